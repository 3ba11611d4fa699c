// Package listen decides which subscriptions/listen streams want which change, and what each still owes its client.
//
// A server tells a [Hub] what changed, with [Hub.Publish], and hands a [Service] to whatever speaks MCP for it: an
// interceptor of package transport, if that is another library. The Service says what is honoured: a [URISource] does, for
// servers that publish the URIs of their resources.
//
//	hub := listen.NewHub(nil)
//	service := &listen.Service{
//		Hub:    hub,
//		Source: listen.URISource{ResourcesListChanged: true}, // every URI, and the list of resources
//	}
//	listens := transport.NewInterceptor(service, nil) // between the library and its clients
//
//	// Whenever something has changed. It never waits for a client.
//	hub.Publish(listen.Change{Keys: []string{"queue:///jobs/7"}, List: true})
//
// You need Hub, Service, URISource and perhaps [Handler], to answer listens in words of your own. [Stream], [Carrier] and
// [Sub] are for transports: those open one Stream for each listen request, with the Service, and pull messages out of it with
// [Stream.Next] immediately before they write them. The package has never heard of files, sessions or sockets: any server
// can use it for its own events. It implements the server's half of revision 2026-07-28, basic/patterns/subscriptions.
//
// # Handlers
//
// A [Handler] owns a listen. It sees all that the client sent, acknowledges with its [Pending] what it honours, and
// only that gives it the [Sender] of everything else: so nothing can be sent before the acknowledgement, a second time,
// or with another id, nothing be acknowledged that was not asked for, and no change be told of that was not
// acknowledged. What the server publishes is added with [Pending.Builtin], and what both tell of is one message. After
// the listen has ended nothing is taken from the handler: each call says why.
//
// # Matching
//
// A key is an opaque string whose segments are separated by "/"; for resources, the canonical URI without a trailing
// slash. A subscription to key K matches the changed key C if C equals K or begins with K and a "/": subscribing to
// a/b covers a/b and a/b/c, not a/bc. Nothing that was not asked for is ever handed out. The message for a/b names a/b/c,
// and a/b/ if that is published as a container, if [Options.ChangedMeta] says where.
//
// # Ordering
//
// The acknowledgement is the first message of a stream, whatever is published meanwhile. Of the changes that are due
// those never said before come first, in the order of their Publish, then those whose pacing ended first. The
// answer, a completion result or an error, is the last message. What a handler gives to [Sender.Notify] is said in the
// order of the calls, each after the changes that were due when its turn came and before those that are due since. Each
// stream is independent of all others, whatever their ids and filters.
//
// # Loss
//
// Once Open, Acknowledge or Add has returned, a change published to a matching key is owed: after the last Publish for
// a URI at least one notification for it comes out of Next, unless the stream is cancelled or the URI removed first. A
// URI that changes again before its notification was pulled is said once: a stream owes its client a set, not a queue.
// A notification names every key that changed beneath its URI since the one before, and the container that the URI
// itself is, each once, or, if they are more than 64, none: then anything beneath it may have changed. Memory is
// therefore bounded by the filter, however slow the reader; there is no buffer to size and nothing to overflow. After
// [Stream.Cancel] has returned Next hands out nothing at all, what was owed included. A message of Notify is handed out
// or its caller gets an error: there is no queue of them but the calls that wait.
//
// # Pacing
//
// A change after a quiet time is due at once. While changes go on a stream gets updated for one URI at most every
// [Options.UpdateInterval] and list_changed at most every [Options.ListInterval], and one more after the last change.
// A noisy URI delays no other.
//
// # Blocking
//
// Publish never waits for a client. The locks of this package are held for a few memory operations, never while a
// carrier is called and never while a message is encoded, so a [Carrier] may call back into the stream and the hub.
// Opening, matching, delivering and closing cost only the stream's own keys, however many other streams are open.
// What blocks its caller is [Hub.Shutdown], what asks a [Source], for as long as that takes, and Notify, until its message is
// handed out, its context ends or the listen does.
//
// # Goroutines
//
// There is one for each listen that a handler answers, which [Hub.Shutdown] waits for; a listen without a handler has
// none. A stream counts among those that may be open until its handler has returned. No timers are set: time comes in
// through Next. All methods may be called from any goroutine; one goroutine at a time should pull from one stream,
// since its messages are ordered by the calls of Next.
package listen
