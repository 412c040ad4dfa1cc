package serve

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"strings"
)

// idBytes is how much of the HMAC an id shows: 80 bits, 16 characters.
const idBytes = 10

// namer makes ids, and finds them again in a time that tells nothing of those
// it knows.
type namer struct {
	key  []byte
	seal []byte // of this process alone
}

func newNamer(key []byte) namer {
	seal := make([]byte, sha256.Size)
	rand.Read(seal) // never fails: crypto/rand ends the program instead
	return namer{key: key, seal: seal}
}

// id is what a name is called in URLs. Names of different classes never share
// an id.
func (n namer) id(class class, name string) string {
	mac := hmac.New(sha256.New, n.key)
	mac.Write([]byte("oaictl media " + string(class) + "\x00" + name))
	return strings.ToLower(base32.StdEncoding.EncodeToString(mac.Sum(nil)[:idBytes]))
}

// sealed is what an id is looked up by: how long a look-up takes says something
// about this digest, which nobody can compute, and nothing about the id.
func (n namer) sealed(id string) [sha256.Size]byte {
	mac := hmac.New(sha256.New, n.seal)
	mac.Write([]byte(id))
	return [sha256.Size]byte(mac.Sum(nil))
}

// sameID compares in constant time.
func sameID(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
