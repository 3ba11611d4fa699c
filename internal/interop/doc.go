// Package interop drives the program with the MCP clients that other people use, each in every revision it speaks.
//
// It is a module of its own, so that no client becomes a requirement of the program. Its tests build the program and
// the witness, and let each client start the witness, which starts the program: so a test sees both what a client
// made of the answers and what passed on the wire, and how the process ended. The clients written in TypeScript are
// driven by typescript/run.
package interop
