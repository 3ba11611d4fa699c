package storm

import (
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"time"
)

// Paths are relative to the root, separated by slashes. The writers use few names, so that they get in each other's way.
var (
	folderNames = []string{"a", "b", "c"}
	fileNames   = []string{"f.txt", "g.log", "w ü%41.md", "f.txt", "g.log", "a", "b", "k.pem", ".hid"}
	bases       = []string{"", "", "", "keep/", "keep/", "keep/deep/"}

	// calm files are where the storm is, but nothing ever changes them.
	calm = []string{"calm.txt", "keep/calm.txt", "keep/deep/calm.txt"}

	ignoreFiles = []string{".gitignore", ".gitignore", ".mcpignore"}
	ignoreLines = []string{"*.log", "b", "c/", "/a", "!g.log", "a/f.txt", "f.txt", "!b", "# f.txt", "", "!f.txt", "*.md", "b/c/", "!/b/"}

	// Where links lead: inside, outside and nowhere, by way of hidden directories and of other links.
	targets = []string{"f.txt", "g.log", "a/f.txt", "b/g.log", "../f.txt", "../a/g.log", "../../f.txt", ".hid/f.txt", "a/.hid",
		"k.pem", ".hid", "l", "b/l", "nowhere", "../../out/0", "../../../out/1", "a", "b/../f.txt", "a/l/../f.txt", "c/b/f.txt"}
)

// mood is what the writers of a round are up to.
type mood int

const (
	mixed   mood = iota
	still        // nothing comes or goes
	saving       // as editors do
	moving       // directories, for the most part
	linking      // what gives events at other names than it matters to, or none
	hiding       // ignore files and permissions
	rooting      // the root itself goes and comes back, or another takes its place
	moods
)

func (m mood) String() string {
	return [moods]string{"mixed", "still", "saving", "moving", "linking", "hiding", "rooting"}[m]
}

// kinds are the operations of each mood; in all but still ones the mixed ones are among them.
var kinds = [moods][]string{
	mixed: {
		"write", "write", "write", "write", "rewrite", "rewrite", "append", "append", "truncate", "touch", "touch back", "write through",
		"grow", "save", "save", "save beside", "save backup", "save gap", "save vim",
		"mkdir", "mkdir", "grow", "grow",
		"rename", "rename", "rename", "rename", "rename dir", "rename dir", "rename dir", "exchange", "exchange dir", "swap links",
		"remove", "remove", "move out", "move in", "move in", "out write",
		"link", "link", "link out", "link in", "symlink", "symlink", "symlink", "symlink swap",
		"chmod", "chmod off", "chmod dir", "chmod dir back", "chmod back",
		"ignore", "ignore", "unignore", "ignore rename",
		"fifo", "to file", "to file", "to dir", "flood",
		"calm chmod", "calm link", "calm read",
	},
	still:  {"rewrite", "rewrite", "append", "truncate", "touch", "touch back", "chmod", "calm chmod", "calm read", "write through"},
	saving: {"save", "save", "save beside", "save backup", "save gap", "save vim", "write", "grow", "append"},
	moving: {"rename dir", "rename dir", "rename dir", "exchange dir", "exchange dir", "exchange dir", "grow", "grow", "remove dir", "mkdir",
		"move out dir", "move in dir", "to dir", "shuffle", "shuffle"},
	linking: {"link", "link out", "link out", "out write", "out write", "out write", "link hidden", "hidden write", "hidden write",
		"symlink", "symlink", "symlink swap", "write through", "write through", "calm link", "move in", "grow"},
	hiding:  {"ignore", "ignore", "unignore", "ignore rename", "chmod off", "chmod back", "chmod dir", "chmod dir back", "grow", "calm chmod", "locked dir", "locked dir"},
	rooting: {"root away", "root exchange", "rename dir", "grow", "grow", "grow", "save", "write", "append", "remove", "exchange dir"},
}

// mounts are operations that may be among the others where the program has a namespace of mounts to share.
var mounts = []string{"mount dir", "mount dir", "unmount dir"}

// op is one operation. It is made before anything is done, so that it depends on the seed alone; what it comes to depends on
// what it meets.
type op struct {
	kind  string
	x, y  string
	text  string
	n     int
	pause time.Duration // afterwards
}

func (o op) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %q %q %q %d", o.kind, o.x, o.y, o.text, o.n))
}

// planner makes the operations of one writer.
type planner struct {
	*rand.Rand
	writer int
	count  int
	hot    []string // paths that the storm uses more than others
	mounts bool     // it may mount
}

// hotPaths are where most of the operations of a storm meet.
func hotPaths(r *rand.Rand) (hot []string) {
	p := planner{Rand: r}
	for len(hot) < 12 {
		hot = append(hot, path.Join(p.pick(bases...), p.pick("", "", "a", "b", "a/b", "b/c"), p.pick(fileNames...)))
	}
	return hot
}

func (p *planner) pick(from ...string) string { return from[p.IntN(len(from))] }

func (p *planner) folder() string {
	if dir := path.Dir(p.pick(append(p.hot, ".")...)); p.IntN(2) == 0 && dir != "." && !strings.HasPrefix(path.Base(dir), "keep") && path.Base(dir) != "deep" {
		return dir
	}
	dir := p.pick(bases...)
	for range 1 + min(p.IntN(3), p.IntN(3)) {
		dir = path.Join(dir, p.pick(folderNames...))
	}
	return dir
}

func (p *planner) path() string {
	if len(p.hot) > 0 && p.IntN(5) < 3 {
		return p.pick(p.hot...)
	}
	switch p.IntN(8) {
	case 0:
		return p.folder()
	case 1, 2:
		return path.Join(p.pick(bases...), p.pick(fileNames...))
	case 3:
		return path.Join(p.folder(), ".hid", p.pick(fileNames...))
	}
	return path.Join(p.folder(), p.pick(fileNames...))
}

// token is a text that nobody else writes.
func (p *planner) token() string {
	p.count++
	return fmt.Sprintf("%d.%d.%s", p.writer, p.count, strings.Repeat("x", p.IntN(40)))
}

// pauses are what writers do between operations: nothing, for the most part.
func (p *planner) pause(most time.Duration) time.Duration {
	if most == 0 || p.IntN(3) > 0 {
		return 0
	}
	return time.Duration(p.Int64N(int64(most)))
}

func (p *planner) ops(n int, m mood) []op {
	most := []time.Duration{0, time.Millisecond, 10 * time.Millisecond, 40 * time.Millisecond}[p.IntN(4)]
	ops := make([]op, n)
	for i := range ops {
		kind := p.pick(kinds[m]...)
		if m != still && p.IntN(4) == 0 {
			kind = p.pick(kinds[mixed]...)
		}
		if p.mounts && m != still && p.IntN(12) == 0 {
			kind = p.pick(mounts...)
		}
		if kind == "flood" && p.IntN(4) > 0 {
			kind = "grow"
		}
		ops[i] = p.fill(op{kind: kind})
		if m == moving && i < n/4 {
			ops[i] = op{kind: "mkdir", x: path.Join(p.folder(), p.pick(folderNames...))}
		}
		ops[i].pause = p.pause(most)
	}
	return ops
}

func (p *planner) fill(o op) op {
	o.x, o.y, o.text, o.n = p.path(), p.path(), p.token(), p.IntN(4)
	switch {
	case strings.HasPrefix(o.kind, "calm"):
		o.x = p.pick(calm...)
		o.y = path.Join(path.Dir(o.x), fmt.Sprintf("calm.%d", p.writer))
	case strings.HasSuffix(o.kind, " dir"), strings.HasSuffix(o.kind, "dir back"), o.kind == "shuffle":
		o.x, o.y = p.folder(), p.folder()
		if p.IntN(2) == 0 { // a neighbour, which may be in the way less often than what is above or below
			o.y = path.Join(path.Dir(o.x), p.pick("a", "b", "c", "d", "e"))
		}
		if p.IntN(2) == 0 {
			o.x, o.y = o.y, o.x
		}
	case strings.Contains(o.kind, "hidden"):
		o.y = o.x
		o.x = path.Join(p.pick("", "keep"), p.pick(".hid", ".h2"))
	case strings.Contains(o.kind, "ignore"):
		dir := path.Join(p.pick(bases...), p.pick("", "", p.folder(), p.pick(folderNames...)))
		o.x = path.Join(dir, p.pick(ignoreFiles...))
		o.y = path.Join(dir, p.pick(ignoreFiles...))
		o.text = ""
		for range p.IntN(3) + 1 {
			o.text += p.pick(ignoreLines...) + p.pick("\n", "\n", "\r\n")
		}
	case strings.HasPrefix(o.kind, "symlink"), o.kind == "swap links":
		o.x = path.Join(p.pick(path.Dir(o.x), path.Dir(o.x), "keep"), p.pick("l", "l", path.Base(o.x)))
		o.y = p.pick(targets...)
	case o.kind == "grow" && p.IntN(3) > 0:
		o.y = o.x // as often as not it comes back
		o.x = path.Dir(o.x)
	case o.kind == "grow", o.kind == "flood", o.kind == "mkdir":
		o.x = p.folder()
	}
	return o
}
