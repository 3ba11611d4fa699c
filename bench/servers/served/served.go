// Package served is what the servers written in Go share: a directory, its files as resources, and who changes them. The
// servers differ in the library that speaks for them, and in nothing else.
package served

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"mime"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/fsnotify/fsnotify"
)

// Base is what the URI of each file begins with, before its path below the directory.
const Base = "test://"

// Options are those of the command line.
type Options struct {
	Addr string // to serve HTTP at, or "" for standard input and output
	Dir  string
}

// Main parses the command line `[-http ADDR] DIR`, and has serve do the rest until a signal.
func Main(serve func(context.Context, Options) error) {
	var o Options
	flag.StringVar(&o.Addr, "http", "", "serve HTTP at `ADDR` instead of standard input and output")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: [-http ADDR] DIR")
		os.Exit(2)
	}
	o.Dir = flag.Arg(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, o); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// HTTP serves handler at addr until ctx ends, and says on standard error where that is.
func HTTP(ctx context.Context, addr, path string, handler http.Handler) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	fmt.Fprintf(os.Stderr, "listening url=http://%s%s\n", listener.Addr(), path)
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// File is one of the directory.
type File struct {
	URI, Name, MIMEType string
	Path                string // on disk
}

// Files returns all that are below dir.
func Files(dir string) ([]File, error) {
	var files []File
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		kind := mime.TypeByExtension(filepath.Ext(name))
		if kind == "" {
			kind = "application/octet-stream"
		}
		files = append(files, File{URI: Base + name, Name: name, MIMEType: kind, Path: path})
		return nil
	})
	return files, err
}

// Read returns the content of a file, and whether that is text.
func Read(f File) (content []byte, text bool, err error) {
	content, err = os.ReadFile(f.Path)
	return content, utf8.Valid(content), err
}

// Watch calls changed with the URI of each file in dir that is written to, until ctx ends. It looks at dir alone, not below.
func Watch(ctx context.Context, dir string, changed func(uri string)) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer watcher.Close()
	if err := watcher.Add(dir); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, open := <-watcher.Events:
			if !open {
				return nil
			}
			if event.Has(fsnotify.Write) {
				changed(Base + strings.TrimPrefix(filepath.ToSlash(event.Name), filepath.ToSlash(dir)+"/"))
			}
		case err, open := <-watcher.Errors:
			if !open {
				return nil
			}
			fmt.Fprintln(os.Stderr, "watching:", err)
		}
	}
}
