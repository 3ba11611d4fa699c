// Package client keeps a subscription to an MCP server alive: it connects, listens, and tells what changed, whatever
// becomes of the server and of the way to it.
//
//	c := client.New(client.Command("some-server", "--stdio"), client.Want{Listed: true, Read: true}, nil)
//	ended := make(chan error, 1)
//	go func() { ended <- c.Run(ctx) }() // connects, again and again, until ctx ends
//	for e, err := c.Next(ctx); err == nil; e, err = c.Next(ctx) {
//		// e.Kind is Live, Lost, Updated, Added or Removed.
//		fmt.Println(e.Kind, e.URI, len(e.Contents))
//	}
//	err := <-ended // nil after the end of ctx
//
// A [Want] says what is to be followed: the lists of resources, tools and prompts, single resources, or each resource
// that is listed. [Client.Run] supervises: it connects to the [Target], listens, and looks at what it protects once the
// listens are acknowledged; when the connection is lost it begins again. [Client.Next] hands out what is to be told, one
// [Event] at a time. [Client.Resources] and [Client.Contents] are what is known. It is the client's half of revision
// 2026-07-28, basic/patterns/subscriptions, and falls back to resources/subscribe for servers of earlier revisions.
//
// # Live
//
// [Live] is told when every listen is acknowledged, the list was walked after that, what is listed is covered by
// acknowledged listens if it is to be followed, and the contents that are to be kept were read after their listen was
// acknowledged. It is told again after each [Lost], and after each [Client.Set] once that is in force. Between Lost and
// Live nothing is told.
//
// # Loss
//
// A change that happens after Live is told, or an event has the consumer look again. What may have been missed is looked
// at: after each connection the list is walked and compared with what was known, and each followed resource counts as
// changed. Without [Want.Read] it is told as [Updated], with it if its contents differ. A resource that appears is told
// as [Added], and is in the view, only when its own listen is acknowledged, so that no later change of it falls between.
// A walk during which the list changed is followed by another, since pages are not consistent with each other. An update of
// what was not asked for, by a server that spells URIs in its own way, has everything looked at that it may mean. What a
// server does not announce is polled; see [Options.Poll].
//
// What [Client.List] was answered with counts as told, and what [Client.Read] was of a resource that is followed: where a later
// look finds something else, that is told, though it is what was known before. So it is where the look was over before the answer
// came; of a resource that is announced and not kept, a change that was told before the answer came is told once more. Of a
// resource that is not in the view, or not told yet as [Added], Read says nothing but what it holds at that moment. Before the
// first [Live], and between [Client.Set] and its Live, that goes for both: list and read once Live is told.
//
// A change may be told more often than it happened, also because two listens cover a resource while one replaces the other.
//
// A resource that cannot be read though the server answers to other requests keeps none of them from being told: what is
// known of it is the error, and it is read again every so often. A read or a look at a list that the server refuses for a
// while, by Retry-After, is made again then. If that helps nothing, the connection is lost where the list of resources is wanted,
// and a list of tools or prompts counts as not to be had.
//
// # Slow consumers
//
// A Client owes a set, not a queue: a resource that changed twice before [Client.Next] was called is told once, and with
// the contents that it has by then. Memory is bounded by what is followed. Notifications that only an extension knows are
// kept in order, [Options.MaxNotifications] of them; [Event.Missed] says how many more came.
//
// # Listens
//
// Everything that fits is asked for in one listen, and what comes later in further ones, which are merged when they are
// many. A filter changes by a new listen. The old one is cancelled once the new one is acknowledged, the old one has been
// quiet for [Options.Grace], and the server then answers to something else: one that has stalled may still owe. A stream with
// keepalives must have sent one meanwhile. After that the list is walked and its entries compared, and the contents that are
// kept are read. A change of a resource that is neither listed nor kept is lost if a server holds it back for longer than
// Grace on one listen alone. A listen that is never quiet is cancelled in the end, and each filter has at most some waiting
// before it; what it named is then told as changed. What arrives on a listen that was given up is discarded, but for an
// answer: a server that answers a cancelled listen may have ended others with it, so that all is looked at after another
// connection, and no listen is cancelled from then on. A filter that the server refuses is asked for in parts, so
// that what is refused keeps nothing else from being announced; [Status] names it.
//
// # Ends
//
// A connection is lost when it ends, when a listen is ended by the server, which may be graceful ([Event.Graceful]), when
// an answer or an acknowledgement does not come in time, and when nothing is heard for too long. It is tried again after a
// time that doubles with each failure, with full jitter, and that begins anew only after a while of being live
// ([Backoff]), and not before the server says by Retry-After.
//
// # Blocking
//
// [Client.Run] blocks until its context ends. [Client.Next], [Client.Read] and [Client.List] block until there is
// something, their context ends or Run has returned. All other methods return at once. Run waits for no consumer.
//
// # Goroutines
//
// Run has some of its own and has waited for all of them, and for the command, when it returns. [New] starts none. All
// methods may be called from any goroutine; Run is called once.
package client
