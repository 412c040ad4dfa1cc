package extent

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"
)

// maxRanges is how many ranges one request may ask for. Virtual media of
// machines and resumed downloads ask for one.
const maxRanges = 32

// Meta is what Serve tells of an image beyond its bytes, and whom it tells of
// the transfer.
type Meta struct {
	ETag        string // a strong entity tag with its quotes, as Tag makes it; "" for none
	ContentType string // "" is application/octet-stream
	Name        string // what a browser saves it as; "" says nothing
	ModTime     time.Time
	// Sent is told of each stretch of the image that the connection took, a
	// mebibyte at most, before Serve returns, and never two at once. It is the
	// place to move a write deadline on (http.ResponseController).
	Sent func(off, n int64)
	// Failed is told why a transfer ended early: the client left, or the base
	// could not be read.
	Failed func(error)
}

// Serve answers a GET or HEAD request for the image: conditions, one range or
// several, If-Range (RFC 9110, 13 and 14). A HEAD request, and one whose
// conditions say that nothing is to be sent, read nothing of the base. For
// sendfile w must be the server's own writer, or one that passes ReadFrom on to it.
func Serve(w http.ResponseWriter, r *http.Request, m *Image, meta Meta) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	if strings.Count(r.Header.Get("Range"), ",") >= maxRanges {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", m.size))
		http.Error(w, "too many ranges", http.StatusRequestedRangeNotSatisfiable)
		return
	}
	h := w.Header()
	if meta.ETag != "" {
		h.Set("ETag", meta.ETag)
	}
	if meta.ContentType == "" {
		meta.ContentType = "application/octet-stream"
	}
	h.Set("Content-Type", meta.ContentType)
	if meta.Name != "" {
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": meta.Name}))
	}
	content := &served{reader: io.NewSectionReader(m, 0, m.size), sent: meta.Sent}
	defer content.close()
	http.ServeContent(&response{w, m, content, meta.Failed}, r, "", meta.ModTime, content)
}

// served is the image as http.ServeContent reads it, which tells of what was
// read. For a single range that is nothing: response sends it instead. Several
// ranges are read by a goroutine of ServeContent's, which may outlive it.
type served struct {
	reader *io.SectionReader

	mu   sync.Mutex
	sent func(off, n int64) // nil once Serve has returned
}

func (s *served) Seek(off int64, whence int) (int64, error) { return s.reader.Seek(off, whence) }

func (s *served) Read(p []byte) (int, error) {
	at, err := s.reader.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, err
	}
	n, err := s.reader.Read(p)
	if n > 0 {
		s.tell(at, int64(n))
	}
	return n, err
}

func (s *served) tell(off, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sent != nil {
		s.sent(off, n)
	}
}

func (s *served) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = nil
}

// response catches the body on its way from http.ServeContent: a range of the
// image is sent piece by piece, straight from its origin.
type response struct {
	http.ResponseWriter
	image   *Image
	content *served
	failed  func(error)
}

// Unwrap is what http.ResponseController looks for.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// ReadFrom sends the body that src stands for.
func (w *response) ReadFrom(src io.Reader) (int64, error) {
	n, err := w.send(src)
	if err != nil && w.failed != nil {
		w.failed(err)
	}
	return n, err
}

func (w *response) send(src io.Reader) (int64, error) {
	limited, ok := src.(*io.LimitedReader)
	if !ok || limited.R != io.Reader(w.content) {
		return io.Copy(w.ResponseWriter, src)
	}
	at, err := w.content.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, err
	}
	n, err := w.image.send(w.ResponseWriter, at, limited.N, w.content.tell)
	limited.N -= n
	return n, err
}
