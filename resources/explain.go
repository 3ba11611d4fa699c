package resources

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Explanation is the answer to whether a path is served, and why.
type Explanation struct {
	Served bool
	At     string // the shortest path that the rule covers: the one asked for, or a directory above it
	Reason string // the rule, for people; without a path of the host
}

// Explain says whether rel, a path below the root or "" for the root itself, is served, and which rule decides. It goes by
// the disk, also before Load. If ctx ends first, the reason says so.
func (r *Root) Explain(ctx context.Context, rel string) Explanation {
	switch {
	case ctx.Err() != nil:
		return Explanation{At: rel, Reason: ctx.Err().Error()}
	case rel != "" && !plainPath(rel):
		return Explanation{At: rel, Reason: "not a path below the served directory"}
	case rel == "":
		if err := r.check(); err != nil {
			return Explanation{Reason: err.Error()}
		}
		return Explanation{Served: true, Reason: "the served directory"}
	}
	found, k := r.find(rel)
	v := r.judge(rel, k == directory)
	if k == nothing && v.hidden() {
		v = r.judge(rel, true) // whatever would be there
	}
	switch {
	case v.hidden() && !found.shut(v.at):
		return Explanation{At: v.at, Reason: v.reason()}
	case found.Reason != "":
		return found
	case k == symlink:
		if why := r.explainLink(rel); why != "" {
			return Explanation{At: rel, Reason: why}
		}
	}
	if v.at == "" {
		v.at = rel
	}
	why := v.reason()
	if k == regular && !r.mayRead(rel) {
		why += "; it cannot be read"
	}
	return Explanation{Served: true, At: v.at, Reason: why}
}

const cannotBeRead = "a directory that cannot be read"

// shut reports whether e is that the path at lies in a directory that may not be entered, so that no rule is known there.
func (e Explanation) shut(at string) bool {
	return e.Reason == cannotBeRead && (e.At == "" || strings.HasPrefix(at, e.At+"/"))
}

// mayRead reports whether the permission bits of the file rel let this process read it.
func (r *Root) mayRead(rel string) bool {
	fi, err := r.info(rel)
	return err != nil || newStat(fi, r.who).readable
}

// find tells what is at rel; if nothing that can be served, with the reason.
func (r *Root) find(rel string) (Explanation, kind) {
	for i := range len(rel) {
		if rel[i] != '/' {
			continue
		}
		if e, k := r.findOne(rel[:i]); e.Reason != "" || k != directory {
			switch k {
			case symlink:
				e.Reason = "a link to a directory, which is not followed"
			case regular:
				e.At, e.Reason = rel, "nothing is there"
			}
			return e, nothing
		}
	}
	return r.findOne(rel)
}

func (r *Root) findOne(rel string) (Explanation, kind) {
	fi, err := r.info(rel)
	e := Explanation{At: rel}
	switch {
	case errors.Is(err, fs.ErrPermission):
		e.At, _ = split(rel)
		e.Reason = cannotBeRead
		return e, nothing
	case err != nil && passing(err):
		e.Reason = "cannot be looked at now: " + reason(err)
		return e, nothing
	case err != nil:
		e.Reason = "nothing is there"
		return e, nothing
	}
	k := kindOf(fi.Mode())
	if k == nothing {
		e.Reason = "not a regular file"
		return e, k
	}
	switch ok, err := r.spelled(rel); {
	case err != nil:
		e.At, _ = split(rel)
		e.Reason = "a directory that cannot be listed"
	case !ok:
		e.Reason = "nothing is there by that spelling"
	}
	return e, k
}

// explainLink tells why a link is not served, "" if it is.
func (r *Root) explainLink(rel string) string {
	where, err := r.attempt(rel)
	defer where.close()
	switch {
	case errors.Is(err, errOutside):
		return "a link that leads out of the directory"
	case errors.Is(err, errLoop):
		return "a link that leads to itself"
	case errors.Is(err, errOffLimits):
		return "a link to what is hidden: " + r.targets.byName(where.path(), false).reason()
	case err != nil && passing(err):
		return "a link that cannot be followed now: " + reason(err)
	case err != nil:
		return "a link that leads nowhere"
	case where.info.IsDir():
		return "a link to a directory, which is not followed"
	case !where.info.Mode().IsRegular():
		return "a link to what is not a regular file"
	}
	return ""
}

// reason is the rule that made the verdict, in one phrase.
func (v verdict) reason() string {
	switch v.by {
	case included:
		return "--include " + v.glob.quoted()
	case unhidden:
		return "--unhide " + v.glob.quoted()
	case opened:
		return "open for what --unhide " + v.glob.quoted() + " shows in it"
	case walked:
		return "walked for what --include " + v.glob.quoted() + " matches in it"
	case dotName:
		return "a name that starts with a dot"
	case credential:
		_, name := split(v.at)
		return fmt.Sprintf("a credential's name (%s)", secretName(name))
	case ignored:
		if v.rule.text == "" {
			return v.rule.file + " cannot be read"
		}
		return fmt.Sprintf("%s:%d: %s", v.rule.file, v.rule.line, v.rule.text)
	case excluded:
		return "--exclude " + v.glob.quoted()
	case unmatched:
		return "no --include matches"
	case elsewhere:
		return "a served directory of its own"
	case unknown:
		return "its ignore files cannot be read now"
	}
	return "no rule hides it"
}

// quoted is the pattern as one would write it in a shell.
func (g *Glob) quoted() string { return "'" + strings.ReplaceAll(g.text, "'", `'\''`) + "'" }
