// Command bench measures mcp-fsserve beside other servers of the Model Context Protocol that serve the same directory, and
// beside a plain file server, which is the limit.
//
//	bench/run            everything, in a quarter of an hour or more
//	bench/run -quick     everything in small, in two or three minutes
//	bench/run -only read1k,listens -rounds 5
//	bench/run -ours main=/tmp/a,mine=/tmp/b -servers none -only requests
//
// Each server is a child process. Where there are two cores or more it has the first to itself and the load generator,
// which is this process, the others. What counts is the CPU time of the server, in user and system mode, by the kernel's
// clock for the process; times on the wall come second. Rounds are interleaved over the servers, so that what else the
// machine does meets all of them, and the figures are medians over the rounds. Only ratios travel to another machine.
//
// It runs on Linux. Every wait has an end, and every child is ended before the command is.
package main
