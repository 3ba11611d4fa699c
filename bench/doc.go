// Command bench measures mcp-fsserve beside other servers of the Model Context Protocol that serve the same directory, and
// beside a plain file server, which is the limit.
//
//	bench/run            everything, in about half an hour
//	bench/run -quick     everything in small, in two or three minutes
//	bench/run -only read1k,listens -rounds 5
//	bench/run -only growth -servers none
//	bench/run -ours main=/tmp/a,mine=/tmp/b -servers none -only requests
//
// Each server is a child process. Where there are two cores or more it has the first to itself and the load generator,
// which is this process, the others. What counts is the CPU time of the server, in user and system mode, by the kernel's
// clock for the process; times on the wall come second. Rounds are interleaved over the servers, so that what else the
// machine does meets all of them, and the figures are medians over the rounds. Only ratios travel to another machine.
//
// A server whose answer is not what the directory holds is not measured, neither in the first answer nor later, and the tables
// say so. Growth with files, listens, URIs and changes is measured of mcp-fsserve alone, with a size in each column.
//
// It runs on Linux. Every wait has an end, every child is ended before the command is, also after a signal, and what was made
// is removed. The status is 1 if a measure failed.
package main
