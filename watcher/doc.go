// Package watcher turns the operating system's notifications for one directory tree into batches of paths that may have
// changed, and loses none.
//
// An event is only a hint. A batch says "look here", never "this happened": the truth is what lstat and readdir say to
// whoever looks after the batch arrived.
//
//	source  events ─┐
//	poller  looks  ─┤
//	net     looks  ─┼─▶ pump ──▶ settle ──▶ reconcile ──▶ emit
//	sweep   looks  ─┘   merged   windows    directories   Batch
//	                    by path             watched
//
// Paths are relative to the root, separated by slashes, "" for the root itself; names are bytes and pass through unchanged.
// The root may be a symbolic link; below it links are never followed.
//
// What follows is the contract.
//
// # What is told
//
//   - Coverage. Whatever changes below the root, in a directory that Options.Skip lets through, is named by a [Dirty]
//     path or lies at or below a Rescan directory of a batch emitted after the change. Not covered, because no event tells
//     of them: writes through a memory map or through a hard link outside the tree.
//   - Watch first. The first batch is Rescan [""], emitted when every directory is watched. A directory that becomes
//     watched later is named in Rescan (the topmost suffices), and only after the watches at and below it exist.
//   - Twins. A directory that is mounted at several paths is watched under one of them, and what is named there is named
//     under the others too.
//   - Permissions. New attributes of a directory are a Dirty path, and a Rescan only if it could not be listed before or cannot
//     be now. Whoever was denied a look meanwhile looks again when a directory above is Dirty with [Attribute]. That permissions
//     keep directories from being listed or searched is logged once, and once when it is over.
//   - Root. It may be missing, vanish, return, be replaced and not be readable for a while; that is noticed within about 2 s and
//     then emitted as Dirty "" with Rescan [""].
//   - Retry. What the consumer could not look at is in Rescan again, see [Reply].
//
// # When it is told
//
//   - Time. A change is emitted after 2 ms without another, after 8 ms at most; in a burst of more than 256 paths in 100 ms
//     after 20 and 200 ms, until the paths are half as many. A path that does not exist is named only once it has been
//     absent for 25 ms, or has come and gone for 100 ms, so that a save by rename is one Dirty for the target. No path
//     delays another.
//   - Second look. Names that come and go while a file is saved can be told from those that stay: what the consumer calls
//     unsettled in its [Reply] is named again after 25 ms, with [Settled] evidence.
//   - Barrier. [Watcher.Sync] returns when all that happened before it was called has been emitted and answered, second looks
//     included. On Linux a mark in the queue of events says that the earlier ones have been read; where none can be had the
//     time of a window stands for it. A window that is waited for closes at once, unless it is part of a
//     burst. What happens later holds up no Sync for longer than 0.3 s, unless events are lost. Of directories that are polled
//     it tells which names came and went, by a look at each, and which files changed as far as 30 ms go. Those looks rest four
//     times as long as they took; a Sync whose ctx ends before they begin does without.
//
// # Where no event comes
//
//   - Slow net. What no event tells of is found by Options.Look, in rounds of at most 10,000 files about every 1.25 s, or 0.4 s
//     while directories are polled. While there is nothing to look at it is asked with each check of the root.
//   - Sweep. Every watched directory is looked at about every 20 s, at no more than 1 % of a processor, so that the time is
//     longer beyond some tens of thousands of them. What lies where another directory is now, or where names came or went of which no
//     event told, is in Rescan.
//   - Mounts. Where something was mounted or unmounted is in Rescan within about 2 s, if the system has a table of mounts to
//     ask (Linux), and before a Sync ends; otherwise after the next sweep. No directory is held open, so that all can be unmounted.
//   - Polling. Directories for which the system grants no watch are polled, and watched natively when it does, which is tried
//     every 20 s; all are with Options.Poll and where there is no native source. On file systems that can be changed from
//     elsewhere they are polled besides. A change is found within 5 s; if nothing was found, no directory came to be polled, and
//     nobody called [Watcher.Wake] or [Watcher.Sync] for a while, within 30 s; where something changed in the last 10 s, within
//     0.5 s, in at most 64 directories. A pass that takes longer rests as long as it works.
//   - Looks. What a look finds is Dirty as an event makes it, but with [Attribute] evidence, since who looked meanwhile knows of
//     it. What was written within a tick of the file system's clock before a look, mostly 4 ms, is named again with [Content]
//     when the tick is over. A change that is undone before the next look is not found. A directory whose names may have come
//     and gone is named with [Names].
//
// # When something is wrong
//
//   - Loss. If events were lost, every directory is looked at and Rescan [""] emitted, and once more 2 s later, for
//     attributes that lag behind. The next such look begins no sooner than twice the last one's duration.
//   - Limits. Directories that cannot be opened or listed, for want of open files or for another reason than permissions, are
//     in Rescan about every 10 s until they can.
//   - Voice. The log gets one line when a condition begins that the user should know of, with the cure if there is one, and one
//     when it is over. That the system grants too few watches or none is said once by all who share a [Shortage].
//
// # What callers may rely on
//
//   - Blocking. emit is called from the goroutine of [Watcher.Run] only. While it works events are merged into a set that is
//     bounded: beyond the bounds parents are recorded instead of paths, then the whole tree.
//   - Goroutines. New starts none; Run returns when its own have ended. Options.Skip is called from several of them.
//     [Watcher.Sync], [Watcher.Wake], [Watcher.Stats], [Watcher.Watched] and [Watcher.Polled] may be called from any, at any time.
package watcher
