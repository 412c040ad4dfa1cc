package service

import (
	"bytes"
	"context"
	"io"
	"mime/multipart"
	"sync"
)

// upload is a file that is sent in a form while it is read.
type upload struct {
	name    string
	content io.Reader
	// sending is the body of the last attempt, nil before the first.
	sending *formBody
}

// body makes the body of an attempt. A second one needs content to be an io.Seeker.
func (u *upload) body(ctx context.Context) (io.Reader, string, error) {
	if u.sending != nil {
		// The transport may read a body after its request has failed. Close is the last that it does.
		select {
		case <-u.sending.closed:
		case <-ctx.Done():
			return nil, "", context.Cause(ctx)
		}
		if _, err := u.content.(io.Seeker).Seek(0, io.SeekStart); err != nil {
			return nil, "", err
		}
	}
	var head bytes.Buffer
	form := multipart.NewWriter(&head)
	if _, err := form.CreateFormFile("upfile", u.name); err != nil {
		return nil, "", err
	}
	start := bytes.Clone(head.Bytes())
	head.Reset()
	if err := form.Close(); err != nil {
		return nil, "", err
	}
	u.sending = &formBody{
		Reader: io.MultiReader(bytes.NewReader(start), u.content, bytes.NewReader(head.Bytes())),
		closed: make(chan struct{}),
	}
	return u.sending, form.FormDataContentType(), nil
}

// formBody is the body of one attempt. It has no length, so that it is sent in chunks.
type formBody struct {
	io.Reader
	closed chan struct{}
	once   sync.Once
}

// Close says that the transport reads no more.
func (f *formBody) Close() error {
	f.once.Do(func() { close(f.closed) })
	return nil
}
