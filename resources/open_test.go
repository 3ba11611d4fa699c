package resources

import (
	"context"
	"errors"
	"os"
	"testing"
)

func TestWhatIsReplacedBetweenTwoLooksIsLookedForAgain(t *testing.T) {
	p := serve(t)
	p.make("t", "d/f", "t~", "e/f")
	p.open(nil)
	file, err := p.Root.locate("t")
	p.must(err)
	defer file.close()
	p.must(os.Rename(p.at("t~"), p.at("t")))
	if _, _, err := file.open(); !errors.Is(err, errMoved) {
		t.Errorf("a file that was replaced: %v", err)
	}
	dir, err := p.Root.attempt("d")
	p.must(err)
	defer dir.close()
	p.must(os.Rename(p.at("d"), p.at("d~")))
	p.must(os.Rename(p.at("e"), p.at("d")))
	if err := dir.enter("d", dir.info); !errors.Is(err, errMoved) {
		t.Errorf("a directory that was replaced: %v", err)
	}
	p.must(os.RemoveAll(p.at("d")))
	if err := dir.enter("d", dir.info); !errors.Is(err, errMoved) {
		t.Errorf("a directory that has gone: %v", err)
	}
}

// A file that is saved by renaming another one over it is there all the time.
func TestReadDuringAtomicSaves(t *testing.T) {
	p := serve(t)
	p.make("t")
	p.open(nil)
	p.watch()
	c := NewCatalogue(nil, p.Root)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if os.WriteFile(p.at("t~"), []byte("saved"), 0o644) != nil || os.Rename(p.at("t~"), p.at("t")) != nil {
				t.Error("not saved")
				return
			}
		}
	}()
	for range 2000 {
		if _, err := c.Read(context.Background(), p.base.uri("t"), nil); err != nil {
			t.Error(err)
			break
		}
	}
	close(stop)
	<-stopped
}
