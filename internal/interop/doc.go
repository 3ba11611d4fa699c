// Package interop drives the program with the MCP clients that other people use, each in every revision it speaks, on pipes
// and over HTTP.
//
// It is a module of its own, so that no client becomes a requirement of the program. Its tests build the program and
// the witness. On pipes each client starts the witness, which starts the program; over HTTP the test starts the witness,
// and gives the client its URL and a token. So a test sees both what a client made of the answers and what passed on the
// wire, and how the process ended. The clients written in TypeScript are driven by typescript/run.
package interop
