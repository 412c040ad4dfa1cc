package overlay

import (
	"cmp"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// maxRanges is how many ranges one request may ask for. Virtual media of
// machines and resumed downloads ask for one.
const maxRanges = 32

// Meta is what Serve sends about an image beside its bytes, and what it calls during the transfer.
type Meta struct {
	ETag        string // a strong entity tag with its quotes, as Tag makes it; "" for none
	ContentType string // "" is application/octet-stream
	Name        string // what a browser saves it as; "" says nothing
	ModTime     time.Time
	// Sent is called for each stretch of the image that the connection took, a mebibyte at most, before Serve returns,
	// and never for two at once: a write deadline can be moved on in it.
	Sent func(off, n int64)
	// Failed is called with the reason why a transfer ended early: the client left, or the base could not be read.
	Failed func(error)
}

// Serve answers a GET or HEAD request for the image: conditions, one range or
// several, If-Range (RFC 9110, 13 and 14). Where nothing is to be sent, nothing of
// the base is read. For sendfile w must be the server's own writer, or one that
// passes ReadFrom on to it.
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
	h.Set("Content-Type", cmp.Or(meta.ContentType, "application/octet-stream"))
	if meta.Name != "" {
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": meta.Name}))
	}
	content := &served{reader: io.NewSectionReader(m, 0, m.size), sent: meta.Sent}
	defer content.close()
	http.ServeContent(&response{w, m, content, meta.Failed}, r, "", meta.ModTime, content)
}

// served is the image as http.ServeContent reads it, and reports what was read. A single range is not read: response
// sends it instead. Several ranges are read by a goroutine of ServeContent's, which may outlive it.
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
		s.report(at, int64(n))
	}
	return n, err
}

func (s *served) report(off, n int64) {
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
	n, err := w.image.send(w.ResponseWriter, at, limited.N, w.content.report)
	limited.N -= n
	return n, err
}

const (
	// sendChunk is how much is sent before it is reported: short enough that a slow client's progress is seen, long
	// enough to cost no speed.
	sendChunk = 1 << 20
	// sendfileFrom is the length from which on sendfile, which has to find its
	// position and flush what is buffered, is cheaper than copying the bytes.
	sendfileFrom = 16 << 10
	// zeroChunk is how many zeros are held to send any number of them: a segment of
	// the loopback interface, below which a client with a small window has to wait
	// for each of them.
	zeroChunk = 64 << 10
)

// WriteRange writes the n bytes at off to w and returns how many it wrote. What
// lies beyond the end is an io.ErrUnexpectedEOF. Bytes of files go to a w that
// is an io.ReaderFrom as files, which a network connection or an
// http.ResponseWriter on one sends without copying them.
func (m *Image) WriteRange(w io.Writer, off, n int64) (int64, error) {
	return m.send(w, off, n, func(int64, int64) {})
}

// send is WriteRange that reports every stretch of the image once w took it.
func (m *Image) send(w io.Writer, off, n int64, sent func(off, n int64)) (int64, error) {
	if off < 0 || n < 0 || off > m.size {
		return 0, fmt.Errorf("extent: writing %d bytes at offset %d of an image of %d bytes", n, off, m.size)
	}
	s := sender{w: w, sent: sent}
	s.from, _ = w.(io.ReaderFrom)
	defer s.close()
	within := min(n, m.size-off)
	if err := m.within(off, within, s.piece); err != nil {
		return s.written, err
	}
	if within < n {
		return s.written, io.ErrUnexpectedEOF
	}
	return s.written, nil
}

type sender struct {
	w       io.Writer
	from    io.ReaderFrom // w, where it can take a file
	sent    func(off, n int64)
	written int64
	opened  []opened
	zeros   []byte // made when they are first wanted
}

type opened struct {
	src  *source
	file *os.File
}

func (s *sender) close() {
	for _, o := range s.opened {
		o.src.handles.give(o.file)
	}
}

func (s *sender) piece(p piece) error {
	switch p.kind {
	case Memory:
		return s.chunks(p, sendChunk, func(part piece) (int64, error) { return s.write(part.mem) })
	case Zero:
		if s.zeros == nil {
			s.zeros = make([]byte, zeroChunk)
		}
		return s.chunks(p, zeroChunk, func(part piece) (int64, error) { return s.write(s.zeros[:part.n]) })
	}
	if s.from != nil && p.src.file != nil && p.n >= sendfileFrom {
		if file, err := s.open(p.src); err == nil {
			return s.file(p, file)
		}
	}
	return s.copy(p)
}

// file sends a piece of a file as a file.
func (s *sender) file(p piece, file *os.File) error {
	if _, err := file.Seek(p.srcOff, io.SeekStart); err != nil {
		return err
	}
	return s.chunks(p, sendChunk, func(part piece) (int64, error) {
		n, err := s.from.ReadFrom(&io.LimitedReader{R: file, N: part.n})
		if err == nil && n < part.n {
			err = fmt.Errorf("reading %s at offset %d: %w", p.src.name(), part.srcOff+n, io.ErrUnexpectedEOF)
		}
		return n, err
	})
}

func (s *sender) copy(p piece) error {
	buffer := p.src.buffers.Get().(*[]byte)
	defer p.src.buffers.Put(buffer)
	return s.chunks(p, bufferSize, func(part piece) (int64, error) {
		b := (*buffer)[:part.n]
		if err := p.src.readAt(b, part.srcOff); err != nil {
			return 0, err
		}
		return s.write(b)
	})
}

func (s *sender) write(b []byte) (int64, error) {
	n, err := s.w.Write(b)
	return int64(n), err
}

// chunks sends a piece in parts of at most the given size, and reports each.
func (s *sender) chunks(p piece, size int64, send func(part piece) (int64, error)) error {
	for at := p.off; at < p.end(); {
		part := p.cut(at, min(at+size, p.end()))
		n, err := send(part)
		s.written += n
		if n > 0 {
			s.sent(at, n)
		}
		if err != nil {
			return err
		}
		at = part.end()
	}
	return nil
}

func (s *sender) open(src *source) (*os.File, error) {
	for _, o := range s.opened {
		if o.src == src {
			return o.file, nil
		}
	}
	file, err := src.handles.take()
	if err != nil {
		return nil, err
	}
	s.opened = append(s.opened, opened{src, file})
	return file, nil
}
