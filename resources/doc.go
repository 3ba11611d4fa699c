// Package resources is the catalogue: what of a directory is served, under which URI, and what a batch of dirty paths
// changed.
//
// A [Root] is one served directory. It keeps an index of the visible names (tree.go), which [Root.Load] fills and
// [Root.Apply] keeps true; sizes and times are read when a page, a baseline or an event first needs them. A [Catalogue] is
// the ordered set of roots that clients talk to; [OpenRoots] opens several that know of each other.
//
// Contract:
//
//   - Visibility is one rule in one place (visibility.go). What it hides is not listed, not readable by a direct URI, never
//     in a Change, and owns no watch. From outside, hidden, refused and absent look the same.
//   - A [Selection] is part of that rule: it holds for the list, reads, links' targets, subscriptions, watches and changes alike,
//     and never differs between them. [Root.Explain] tells the rule that decides about a path.
//   - Order: each directory's files come before its subdirectories, both in byte order. A cursor is a position in that order,
//     so a walk over the pages sees each file that exists throughout exactly once, whatever else comes and goes.
//   - A root that is missing, or a directory that cannot be listed, counts as empty. What shows once it can be listed counts as
//     there at once, and is read by its own rules even before an Apply knows them.
//   - Of roots inside each other the inner one serves its subtree, and the outer one denies it.
//   - What is answered from the index (pages, directories, completions, that nothing is there) is preceded by
//     CatalogueOptions.Update, so that a client finds what it has just done on disk. Files are read from the disk.
//   - Load and Apply exclude each other and do their I/O without the lock that readers take: List, Read, Resolve, Skip and
//     Baseline never wait for the disk work of Apply, but as Update does. List waits for Load, also for one that an Apply makes
//     up for, until its page is known.
//   - Apply reports each served path that appeared, disappeared or changed, and whether the set of listed URIs differs. Of
//     a file whose state was never taken (by Baseline, a page, an event or, if it is subscribed to, a round) only a change with
//     Content evidence is seen. What changed between a Baseline and Load is reported by the first Apply.
//   - Who read a file in a state that the index never had, because it was gone or another one again too soon, is told of the
//     file as well, also if it was too large, or a link led elsewhere. Of 4,096 such reads a note is kept until Apply knows; beyond
//     that Update comes before the answer. What was there for a moment, and nobody read, is not told of.
//   - A chmod is no change, unless it makes a file readable or unreadable. In a Rescan without any evidence a change time
//     that moved under equal permissions counts as a write.
//   - What gives no event is found by [Rounds]: files that are subscribed to, also those to come, links whose way leads
//     through a directory that owns no watch, what readers alone have seen, and, a tenth of each round, what is beneath
//     subscribed directories. It only suspects: Apply decides. A change that leaves size, modification time and inode as they
//     were is not seen. A link's target that is away there gets a second look.
//   - What cannot be looked at for a passing reason, such as a lack of file descriptors, counts as it was and is in
//     Reply.Retry. An ignore file that is not known hides everything beside it; of a directory that could
//     not be listed it is read when somebody asks for what is in there.
//   - A file of more than 64 KiB is handed out as a [Body]: it was read once and is read again block by block, each as it
//     was, or the error is [ErrChanged]. It is open until the body is closed. What the first reading found is kept for 64 files
//     at most, and holds for later reads of a file whose state, change time included, is as it was.
//   - Files are opened below their root's directory, by openat2 where the system has it and no link is met, and by [os.Root]
//     otherwise: regular files only, never through a link but in the last segment, and never in a way that could block.
//     Nor are names looked up through a link, for the index. Errors name no path of the host.
//   - The index takes some 60 bytes for a file, and 64 more once its state was taken. A page costs what is on it, how deep that
//     is, and the directories without files on the way; a change of a name copies some kilobytes, however many names its directory
//     has.
//   - The package starts no goroutine. All methods may be called from any goroutine.
package resources
