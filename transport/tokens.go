package transport

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Tokens are the bearer tokens (RFC 6750) that admit clients, each with the client's name. It holds their hashes only, so
// that none can end up in a log. It is safe for use from any goroutine.
type Tokens struct {
	all []token
}

type token struct {
	client string
	sum    [sha256.Size]byte
	line   int
}

// ParseTokens reads a list of tokens: a line holds NAME TOKEN, or TOKEN alone, and is then called token-N after its number.
// What follows a # is a comment. One client may have several tokens, so that they can be changed while it works. It is an
// error if there is no token. Errors name the line, never what it says.
func ParseTokens(text string) (*Tokens, error) {
	t := &Tokens{}
	number := 0
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) { // the mark that some editors put first
		number++
		words := strings.Fields(uncommented(line))
		if len(words) == 0 {
			continue
		}
		if err := t.add(number, words); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	if len(t.all) == 0 {
		return nil, errors.New("no token in it")
	}
	return t, nil
}

// uncommented is what comes before a comment. No token has a #.
func uncommented(line string) string {
	line, _, _ = strings.Cut(line, "#")
	return line
}

func (t *Tokens) add(line int, words []string) error {
	client, secret := "token-"+strconv.Itoa(line), words[len(words)-1]
	switch len(words) {
	case 1:
	case 2:
		client = words[0]
	default:
		return fmt.Errorf("has %d words, want NAME TOKEN or TOKEN alone", len(words))
	}
	if !isToken(secret) {
		return errors.New("a token has letters, digits, - . _ ~ + / only, and = at its end")
	}
	if !isClientName(client) {
		return errors.New("a name has letters, digits, - . _ @ only")
	}
	sum := sha256.Sum256([]byte(secret))
	for _, other := range t.all {
		if other.sum == sum {
			return fmt.Errorf("is the same token as that of line %d", other.line)
		}
	}
	t.all = append(t.all, token{client, sum, line})
	return nil
}

const alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// isToken obeys "b64token = 1*( ALPHA / DIGIT / "-" / "." / "_" / "~" / "+" / "/" ) *"="" (RFC 6750, 2.1).
func isToken(s string) bool {
	s = strings.TrimRight(s, "=")
	return s != "" && strings.Trim(s, alphanumeric+"-._~+/") == ""
}

func isClientName(s string) bool { return strings.Trim(s, alphanumeric+"-._@") == "" }

// owner returns the name of the client whose token this is. It compares with every token and in constant time, so that the
// time it takes says neither which is near nor which is meant.
func (t *Tokens) owner(secret string) (client string, ok bool) {
	sum := sha256.Sum256([]byte(secret))
	found := -1
	for i := range t.all {
		same := subtle.ConstantTimeCompare(sum[:], t.all[i].sum[:])
		found = subtle.ConstantTimeSelect(same, i, found)
	}
	if found < 0 {
		return "", false
	}
	return t.all[found].client, true
}
