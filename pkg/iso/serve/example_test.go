package serve_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/oaictl/oaictl/pkg/iso/fetch"
	"github.com/oaictl/oaictl/pkg/iso/overlay"
	"github.com/oaictl/oaictl/pkg/iso/serve"
)

// A base that is downloaded when the first machine asks for its image.
func Example() {
	dir, err := os.MkdirTemp("", "media")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	mirror := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader("a live ISO with one empty area"))
	}))
	defer mirror.Close()
	bases := fetch.New(fetch.Config{Dir: filepath.Join(dir, "cache"), Cap: 20 << 30})

	key, err := serve.LoadKey(filepath.Join(dir, "media.key"))
	if err != nil {
		fmt.Println(err)
		return
	}
	server, err := serve.New(serve.Config{Key: key})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = server.Set("master-0", serve.File{Kind: serve.ISO, Open: func(ctx context.Context) (*overlay.Image, error) {
		file, err := bases.Get(ctx, fetch.Source{Location: mirror.URL + "/rhcos-live.iso"}, nil)
		if err != nil {
			return nil, err
		}
		iso, err := os.Open(file.Path)
		if err != nil {
			return nil, err
		}
		image := overlay.New(iso, file.Size)
		image.Overlay(20, []byte("taken"))
		return image, nil
	}})
	if err != nil {
		fmt.Println(err)
		return
	}

	machine := httptest.NewRecorder()
	server.ServeHTTP(machine, httptest.NewRequest(http.MethodGet, server.URL("master-0", serve.ISO), nil))
	fetched := server.Fetched("master-0")
	fmt.Println(machine.Body)
	fmt.Printf("%d of %d bytes\n", fetched.Bytes, fetched.Size)
	// Output:
	// a live ISO with one taken area
	// 30 of 30 bytes
}
