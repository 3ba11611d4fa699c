// Package client keeps a subscription to an MCP server alive: it connects, listens, and tells what changed, whatever
// becomes of the server and of the way to it.
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
// A change that happens after Live is told, or an event that has the consumer look again. What may have been missed is
// looked at: after each connection the list is walked and compared with what was known, and each followed resource counts
// as changed: without [Want.Read] it is told as [Updated], with it if its contents differ. The same is done with what a
// new listen has taken over from an old one. A resource that appears is told as [Added] only when its own listen is
// acknowledged, so that no later change of it falls between.
// What a server does not announce is polled; see [Options.Poll].
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
// many. A filter changes by a new listen: the old one is cancelled once the new one is acknowledged and the old one has
// handed out what it owed. What arrives on a listen that was given up is discarded.
//
// # Ends
//
// A connection is lost when it ends, when a listen is ended by the server, which may be graceful ([Event.Graceful]), when
// an answer or an acknowledgement does not come in time, and when nothing is heard for too long. It is tried again after a
// time that doubles with each failure, with full jitter, and that begins anew only after a while of being live
// ([Backoff]).
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
