package machine

import (
	"context"
	"errors"
	"sync"
)

// users are those who log in to BMCs. A user and password that a BMC has refused are
// not tried again: accounts lock.
type users struct {
	mu sync.Mutex
	of map[account]*user
}

// account is a user of a BMC, with the password that is said to be right.
type account struct{ endpoint, name, password string }

// user is what is known of an account.
type user struct {
	turn    chan struct{} // holds one while somebody logs in
	refused error
}

func (u *users) at(endpoint, name, password string) *user {
	u.mu.Lock()
	defer u.mu.Unlock()
	key := account{endpoint, name, password}
	if u.of == nil {
		u.of = map[account]*user{}
	}
	if u.of[key] == nil {
		u.of[key] = &user{turn: make(chan struct{}, 1)}
	}
	return u.of[key]
}

// login logs in as a user, unless that was refused before. Machines that share a BMC
// do so one after the other.
func (u *user) login(ctx context.Context, try func() error) error {
	select {
	case u.turn <- struct{}{}:
		defer func() { <-u.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if u.refused != nil {
		return u.refused
	}
	err := try()
	if refused := new(refusedUser); errors.As(err, &refused) {
		u.refused = &trouble{kind: kindCredentials, text: "its BMC refuses user and password"}
		return u.refused
	}
	return err
}

// refusedUser is the answer of a BMC that takes a user and password in no way.
type refusedUser struct{ error }
