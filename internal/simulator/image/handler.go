package image

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/isowriter"
)

// Handler serves the media, the netboot artefacts and the service's health.
// Every file can be asked for by HEAD and in ranges, and has an ETag that stays
// until its bytes change.
func (s *Service) Handler() http.Handler {
	mux := http.NewServeMux()
	s.handle(mux, "GET /byid/{proof}/{version}/{arch}/{file}", s.serveISO(ByID))
	s.handle(mux, "GET /bytoken/{proof}/{version}/{arch}/{file}", s.serveISO(ByToken))
	s.handle(mux, "GET /byapikey/{proof}/{version}/{arch}/{file}", s.serveISO(ByAPIKey))
	s.handle(mux, "GET /images/{id}", s.serveOldISO)
	s.handle(mux, "GET /images/{id}/pxe-initrd", s.serveInitrd)
	s.handle(mux, "GET /images/{id}/s390x-initrd-addrsize", s.serveInitrdAddress)
	s.handle(mux, "GET /boot-artifacts/{artifact}", s.serveArtifact)
	healthy := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }
	mux.HandleFunc("GET /health", healthy)
	mux.HandleFunc("GET /live", healthy)
	return mux
}

// handle registers a route whose errors are answered in plain text.
func (s *Service) handle(mux *http.ServeMux, pattern string, serve func(http.ResponseWriter, *http.Request) error) {
	mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		err := serve(w, r)
		if err == nil {
			return
		}
		answer := &httpError{http.StatusInternalServerError, err.Error()}
		errors.As(err, &answer)
		http.Error(w, answer.message, answer.code)
	})
}

func (s *Service) serveISO(access Access) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		file, ok := strings.CutSuffix(r.PathValue("file"), ".iso")
		if !ok || !isoTypes(file) {
			return &httpError{http.StatusBadRequest, fmt.Sprintf("no image is called %q", r.PathValue("file"))}
		}
		id, source, err := s.open(r, access, r.PathValue("proof"))
		if err != nil {
			return err
		}
		return s.sendISO(w, r, id, source, imageRequest{r.PathValue("version"), r.PathValue("arch"), file == "minimal"})
	}
}

// serveOldISO answers the links of older services, which name version, architecture and type in the query.
func (s *Service) serveOldISO(w http.ResponseWriter, r *http.Request) error {
	file, ok := strings.CutSuffix(r.FormValue("type"), "-iso")
	if !ok || !isoTypes(file) {
		return &httpError{http.StatusBadRequest, fmt.Sprintf("no image is of type %q", r.FormValue("type"))}
	}
	source, err := s.openByQuery(r)
	if err != nil {
		return err
	}
	return s.sendISO(w, r, r.PathValue("id"), source, imageRequest{r.FormValue("version"), r.FormValue("arch"), file == "minimal"})
}

type imageRequest struct {
	version, arch string
	minimal       bool
}

func (s *Service) sendISO(w http.ResponseWriter, r *http.Request, id string, source Source, wanted imageRequest) error {
	made, err := s.live(wanted.version, wanted.arch, wanted.minimal)
	if err != nil {
		return err
	}
	if made.instructions != nil && len(source.KernelArguments) > 0 {
		return &httpError{http.StatusBadRequest, "kernel arguments cannot be written into an s390x image"}
	}
	rootfs, err := ArtifactURL(Link{Base: base(r), Version: wanted.version, Arch: wanted.arch}, "rootfs")
	if err != nil {
		return fmt.Errorf("making the address of the root file system: %w", err)
	}
	iso, err := made.personal(source, rootfs)
	if err != nil {
		return err
	}
	digest := iso.Digest()
	send(w, r, id+"-discovery.iso", source.Updated, digest[:], iso.Reader())
	return nil
}

func base(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// openByQuery finds the source of a path for the bearer of its infra-env's token, in query or header.
func (s *Service) openByQuery(r *http.Request) (Source, error) {
	id := r.PathValue("id")
	proof := id
	switch s.config.Access {
	case ByToken:
		if proof = r.URL.Query().Get("image_token"); proof == "" {
			proof = r.Header.Get("Image-Token")
		}
	case ByAPIKey:
		if proof = r.URL.Query().Get("api_key"); proof == "" {
			proof = r.Header.Get("Authorization")
		}
	}
	opened, source, err := s.open(r, s.config.Access, proof)
	if err != nil {
		return Source{}, err
	}
	if opened != id {
		return Source{}, &httpError{http.StatusNotFound, "infra-env was not found"}
	}
	return source, nil
}

func (s *Service) openNetboot(r *http.Request) (Source, *live, error) {
	source, err := s.openByQuery(r)
	if err != nil {
		return Source{}, nil, err
	}
	made, err := s.live(r.FormValue("version"), r.FormValue("arch"), false)
	return source, made, err
}

func (s *Service) serveInitrd(w http.ResponseWriter, r *http.Request) error {
	source, made, err := s.openNetboot(r)
	if err != nil {
		return err
	}
	initrd := made.netboot(source)
	digest := sha256.New()
	if _, err := io.Copy(digest, initrd); err != nil {
		return fmt.Errorf("reading the initrd: %w", err)
	}
	send(w, r, r.PathValue("id")+"-initrd.img", source.Updated, digest.Sum(nil), initrd)
	return nil
}

// serveInitrdAddress answers 16 bytes for an s390x loader: where its initrd goes, and how long it is.
func (s *Service) serveInitrdAddress(w http.ResponseWriter, r *http.Request) error {
	source, made, err := s.openNetboot(r)
	if err != nil {
		return err
	}
	if made.initrdAddressLength == nil {
		return &httpError{http.StatusBadRequest, "only s390x images have an initrd address"}
	}
	length, err := made.netboot(source).Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("measuring the initrd: %w", err)
	}
	answer := addressLength(length)
	digest := sha256.Sum256(answer)
	send(w, r, "initrd.addrsize", source.Updated, digest[:], isowriter.BytesOf(answer).Reader())
	return nil
}

func (s *Service) serveArtifact(w http.ResponseWriter, r *http.Request) error {
	made, err := s.live(r.FormValue("version"), r.FormValue("arch"), false)
	if err != nil {
		return err
	}
	name, content := "", (*isowriter.Sparse)(nil)
	switch artifact := r.PathValue("artifact"); artifact {
	case "kernel":
		name, content = "vmlinuz", made.kernel
	case "rootfs":
		name, content = "rootfs.img", made.rootfs
	case "ins-file":
		if made.instructions == nil {
			return &httpError{http.StatusBadRequest, "only s390x images have an ins-file"}
		}
		name, content = "generic.ins", isowriter.BytesOf(made.instructions)
	default:
		return &httpError{http.StatusNotFound, fmt.Sprintf("no boot artifact is called %q", artifact)}
	}
	digest := content.Digest()
	send(w, r, name, time.Time{}, digest[:], content.Reader())
	return nil
}

// send answers with a file: in full, a range of it, or its header fields.
func send(w http.ResponseWriter, r *http.Request, name string, updated time.Time, digest []byte, content io.ReadSeeker) {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", "attachment; filename="+name)
	w.Header().Set("ETag", `"`+hex.EncodeToString(digest[:16])+`"`)
	http.ServeContent(w, r, name, updated, content)
}
