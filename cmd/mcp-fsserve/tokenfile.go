package main

import (
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/mcp-fsserve/mcp-fsserve/transport"
)

// tokenVariable has the tokens themselves where no file is named: environments are how containers are given secrets.
const tokenVariable = "MCP_FSSERVE_TOKEN"

const tokenHint = "a line is NAME TOKEN or TOKEN alone; openssl rand -hex 32 makes a token"

// tokens are those that clients must have, nil if there are none.
func (w *web) tokens(log *slog.Logger) (*transport.Tokens, error) {
	text, set := os.LookupEnv(tokenVariable)
	from := "$" + tokenVariable
	switch {
	case w.tokenFile != "":
		read, err := readTokens(w.tokenFile, log)
		if err != nil {
			return nil, err
		}
		text, from = read, "--token-file "+quoteArg(w.tokenFile)
	case !set || w.insecure:
		return nil, nil
	case isFileName(strings.TrimSpace(text)):
		return nil, withHint("for a file give --token-file FILE; before a token that looks like a path write a name: NAME TOKEN",
			"%s holds the tokens themselves, not the name of a file", from)
	}
	tokens, err := transport.ParseTokens(text)
	if err != nil {
		return nil, withHint(tokenHint, "%s: %w", from, err)
	}
	return tokens, nil
}

// isFileName reports whether a file was meant, whose name, which is no secret, would be a token.
func isFileName(text string) bool {
	home := strings.HasPrefix(text, "~") && strings.Contains(text, "/") // also that of ~somebody/
	if home || strings.HasPrefix(text, "/") || strings.HasPrefix(text, "./") || strings.HasPrefix(text, "../") || filepath.IsAbs(text) {
		return true
	}
	fi, err := os.Stat(text)
	return err == nil && !fi.IsDir()
}

// mostTokens bounds what is read of a file of tokens, in bytes: another file may have been meant.
const mostTokens = 1 << 20

func readTokens(name string, log *slog.Logger) (string, error) {
	fi, err := os.Stat(name)
	switch {
	case err != nil:
		return "", fmt.Errorf("--token-file cannot be read: %w", err)
	case fi.IsDir():
		return "", withHint("name a file in it", "--token-file %s: it is a directory", quoteArg(name))
	}
	f, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("--token-file cannot be read: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostTokens+1)) // the size of a pipe or a device says nothing
	switch {
	case err != nil:
		return "", fmt.Errorf("--token-file cannot be read: %w", err)
	case len(text) > mostTokens:
		return "", withHint("was another file meant?", "--token-file %s: it is larger than 1 MiB", quoteArg(name))
	}
	warnOfReaders(name, fi.Mode(), log)
	return string(text), nil
}

// warnOfReaders says that others can read a secret. On Windows the mode does not tell.
func warnOfReaders(name string, mode fs.FileMode, log *slog.Logger) {
	if runtime.GOOS != "windows" && mode.Perm()&0o004 != 0 {
		log.Warn("other users can read the secret in "+name, hintKey, "run: chmod o-r "+quoteArg(name))
	}
}
