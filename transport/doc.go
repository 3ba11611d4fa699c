// Package transport speaks the Model Context Protocol on the wire: it serves the listens of a server that is built on another
// library, with an [Interceptor], and all that a server of directories is asked, with a [Server].
//
// A server of your own needs an interceptor, which stands between its library and its clients, and a [listen.Service], which
// says what is honoured:
//
//	listens := transport.NewInterceptor(&listen.Service{Hub: hub, Source: source}, nil)
//
//	// On standard input and output.
//	pipe := listens.Stdio(os.Stdin, os.Stdout)
//	err := serve(pipe.Reader(), pipe.Writer()) // the library, which reads and writes lines
//	err = errors.Join(err, pipe.Close())       // completes the listens
//
//	// Over HTTP, around the handler of the library.
//	endpoint := listens.Handler(handler, nil)
//	http.Handle("/mcp", endpoint) // and endpoint.Shutdown(ctx) before the Shutdown of the http.Server
//
// A Server frames and parses messages, decides which era a request belongs to, checks it, asks its [Catalogue] or the hub, and
// encodes what they say. Its Catalogue is that of package resources: to serve something else, use a library and an Interceptor.
//
// The eras. A request whose _meta carries the metadata of revision 2026-07-28 is served statelessly under that
// revision; initialize opens a session in one of the earlier revisions. Both may be mixed on one pipe. dispatch.go
// decides and checks, and knows nothing of pipes or sockets; a transport brings an [origin] and carries the answer.
//
// Ordering. Messages are taken in the order they arrive. Requests that may block are served concurrently, so answers
// come in any order; an answer to initialize precedes every notification of its session, and an acknowledgement
// precedes everything else that bears its subscription's id.
//
// Blocking, on a pipe. A blocked request delays no other until Options.MaxInFlight of them are blocked. Beyond that accepted
// requests wait their turn, still cancellable. Beyond 16 MiB of requests in flight none is accepted, but up to 8 MiB of
// input are read ahead, so that its end is seen. When more than that is unread a pipe or socket on Unix still shows that its
// other end is closed; elsewhere the end is seen once the output moves. Nobody waits for a stalled client but the goroutine that
// writes to it, and one more that has served a request and would write its answer.
//
// Memory. All reads of a server stay within Options.MaxReadMemory together, from before more than 64 KiB are held until the
// answer is written or dropped; one that needs more than that runs alone. Reads of up to 64 KiB need none of it, nor do bodies
// over HTTP outside of batches, of which a block is held at a time: their number is their bound. A body that waits for memory
// is closed, and read again. A read that waits for memory keeps no other request waiting, but of the reads that wait no more than four
// times Options.MaxInFlight are begun on a pipe. The other answers that wait for the output are bounded by the work that is
// started for it, those of unfinished batches and of finished ones by 64 MiB each: beyond that the rest of a batch is
// refused. What is cancelled is let go of at once.
//
// Silence. Once a cancellation has been read, nothing that is not yet handed to the output is sent for its request. An
// answer and a stream's frame are asked for immediately before they are written, so nothing is purged.
//
// Loss. Every well-formed request that is not cancelled is answered exactly once while the output accepts bytes,
// but for what a demand to leave has no time for.
//
// Leaving. At the end of input what was asked is answered and every listen is completed, however long that takes, as long
// as there is progress. When no call is answered and no byte is taken for 700 ms, the work is told to end, and 150 ms
// later what is not answered is given up. While a write is on its way only the output counts, since work may have to wait
// for it: when it takes no byte for 1.7 s the rest is left unwritten. So a hung catalogue keeps a process for a second, a
// stalled output for two. The end of the context, also after that of input, demands more: it is left after 1.5 s even if
// there is progress, the work is told to end after 1.2 s, and no frame is begun of which the output seems not to take all
// until then. One is cut only if it was begun before that was known. A write is at most 16 KiB, and 4 KiB at the end, so
// that progress shows.
//
// HTTP. Each request of an [Endpoint] is served by the goroutine that net/http has for it: none is delayed by another, and the
// ids of different requests are not compared. A listen over HTTP/1.1 takes its connection over when it is acknowledged, and the
// stream of a session when no other answer to GET carries it, where the ResponseWriter is an [http.Hijacker] and has no Content-Encoding, and the request is over for net/http: what the stream
// has to say is written without waiting, and the rest of what is not taken at once by a goroutine of its own. Any other stream
// is pulled from by the goroutine of its answer. A modern request is cancelled by closing its answer, also by half. A write may
// take as long as HTTPOptions.WriteTimeout for 64 KiB, then its client loses that one answer; memory of reads is held, and a
// body open, until then. An answer with a body that has changed is broken off once part of it was sent. What an answer to GET
// could not send is sent by the next one of its
// session. Beyond the limits on requests, listens and bodies there is status 503, beyond that on one body 413.
// [Endpoint.Shutdown] completes every listen, and after its context has ended cancels what is left, which then has half a
// second.
//
// Handlers. What Options.Listen refuses within HTTPOptions.Keepalive has a status of its own over HTTP; until then, or the
// acknowledgement, nothing is answered. After that the answer has begun, and what is refused is refused in it. A handler is
// neither work nor a request in flight: it may take as long as it likes, and [listen.Hub.Shutdown] waits for it.
//
// Interceptors. An [Interceptor] serves the listens of a server that is built on another library, and nothing else. On a pipe it
// takes listens of revision 2026-07-28, their cancellations and requests with the id of one that is open; towards a client that
// has not initialized a session it drops the library's own untagged notifications of changes, and at any time what the library
// says to a cancelled request whose id is that of a listen by now. Over HTTP it takes listens only. A batch that holds a listen
// is refused as a whole, outside of sessions over HTTP. All else passes byte for byte, in order and in whole lines. Input is read ahead of the library, up to 8 MiB, so that neither a library nor an output
// that stalls delays a listen or a cancellation. The end of input is passed on when the listens are completed, or a second
// later.
//
// Goroutines. An endpoint has one that sees the clients go of all streams that have taken their connections over, as long as there
// is one. Where the system does not tell of many at once, which it does on Linux, and of a connection that is no plain socket, as
// with TLS, each of these streams has one of its own for that. There is one more for each stream while its client takes less than
// it is told, and, as long as there is something to be told, as many as there are processors. Shutdown waits for all that belong
// to one stream. A session that is idle is ended by a timer, as the pace of listens and their comments are kept by one. An [InterceptedPipe] has one that reads and,
// from the first listen on, one that writes and one for each listen that is being opened: they end with its input or its Close,
// but for those that are blocked in a read or a write. [Server.ServeStdio] starts one
// that reads, one that writes, one for each request that may block and, while nothing more is accepted, one that
// reads ahead. A request that is alone is served, and its answer written, by the one that has read it; if that takes longer than
// one or two milliseconds, another is started to read on. It waits for all of them when it returns, but for those that are blocked
// in a read of the input, in a write to the output, or in a catalogue that does not heed its context in time.
package transport
