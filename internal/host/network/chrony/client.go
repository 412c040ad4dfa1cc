package chrony

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
)

// Client asks one chronyd.
type Client struct {
	// Dials are the ways to reach it, the best first: its socket, which takes all commands, and its port, which takes only
	// questions.
	Dials []func(ctx context.Context) (net.Conn, error)
	Clock clock.Clock
}

const (
	// answerTime is how long chronyd may take for an answer. It is on this machine.
	answerTime = time.Second
	attempts   = 3
)

// Sources are all sources that chronyd has.
func (c Client) Sources(ctx context.Context) ([]Source, error) {
	var sources []Source
	err := c.connected(ctx, func(s *session) error {
		var err error
		sources, err = s.sources(ctx)
		return err
	})
	return sources, err
}

// Add adds an NTP server by name or address. It is no error if chronyd has it already.
func (c Client) Add(ctx context.Context, name string) error {
	data, err := addServer(name)
	if err != nil {
		return err
	}
	err = c.connected(ctx, func(s *session) error {
		_, err := s.ask(ctx, commandAddSource, data, replyNothing, 0)
		return err
	})
	if errors.Is(err, alreadyKnown) {
		return nil
	}
	return err
}

// connected does something by the first way that works.
func (c Client) connected(ctx context.Context, do func(*session) error) error {
	var errs []error
	for _, dial := range c.Dials {
		connection, err := dial(ctx)
		if err == nil {
			err = errors.Join(do(&session{connection, c.Clock}), connection.Close())
		}
		if err == nil || ctx.Err() != nil || errors.Is(err, alreadyKnown) {
			return err
		}
		errs = append(errs, err)
	}
	return fmt.Errorf("ask chronyd: %w", errors.Join(errs...))
}

// session is a connection to chronyd.
type session struct {
	net.Conn
	clock clock.Clock
}

func (s *session) sources(ctx context.Context) ([]Source, error) {
	data, err := s.ask(ctx, commandSources, nil, replySources, sourcesSize)
	if err != nil {
		return nil, err
	}
	count := binary.BigEndian.Uint32(data)
	if count > mostSources {
		return nil, fmt.Errorf("chronyd has %d sources, and %d are the most that are read", count, mostSources)
	}
	var all []Source
	for i := range count {
		data, err := s.ask(ctx, commandSource, binary.BigEndian.AppendUint32(nil, i), replySource, sourceSize)
		if err != nil {
			return nil, fmt.Errorf("source %d: %w", i, err)
		}
		all = append(all, parseSource(data))
	}
	return all, nil
}

// ask sends a request until its reply is there.
func (s *session) ask(ctx context.Context, command uint16, data []byte, kind uint16, size int) ([]byte, error) {
	var random [4]byte
	_, _ = rand.Read(random[:]) // it never fails
	sequence := binary.BigEndian.Uint32(random[:])
	for attempt := range uint16(attempts) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if _, err := s.Write(request(command, attempt, sequence, data, size)); err != nil {
			return nil, err
		}
		reply, err := s.reply(command, sequence, kind, size)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return reply, err
		}
	}
	return nil, fmt.Errorf("chronyd did not answer %d requests, for %v each", attempts, answerTime)
}

func (s *session) reply(command uint16, sequence uint32, kind uint16, size int) ([]byte, error) {
	if err := s.SetReadDeadline(s.clock.Now().Add(answerTime)); err != nil {
		return nil, err
	}
	const largest = 1024
	buffer := make([]byte, largest)
	for {
		n, err := s.Read(buffer)
		if err != nil {
			return nil, err
		}
		if data, err := parseReply(buffer[:n], command, sequence, kind, size); !errors.Is(err, errOther) {
			return data, err
		}
	}
}
