package trust

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/sshsig"
)

// Once returns a verifier that asks v about each signature once, however many trees
// hold it: those of a change and its base, or of every commit of a history. It
// remembers all it was asked, so it is for one run. A nil v means [SSH].
func Once(v Verifier) Verifier {
	if v == nil {
		v = SSH{}
	}
	return &onceVerifier{next: v, done: map[canonical.Digest]verified{}}
}

type onceVerifier struct {
	next Verifier
	mu   sync.Mutex
	done map[canonical.Digest]verified
}

type verified struct {
	key string
	err error
}

// Verify implements [Verifier].
func (v *onceVerifier) Verify(message, blob []byte, ns sshsig.Namespace) (string, error) {
	id := signatureID(message, blob, ns)
	v.mu.Lock()
	r, ok := v.done[id]
	v.mu.Unlock()
	if ok {
		return r.key, r.err
	}
	r.key, r.err = v.next.Verify(message, blob, ns)
	v.mu.Lock()
	v.done[id] = r
	v.mu.Unlock()
	return r.key, r.err
}

// signatureID covers all that the result depends on.
func signatureID(message, blob []byte, ns sshsig.Namespace) canonical.Digest {
	h := sha256.New()
	var size [8]byte
	for _, part := range [][]byte{[]byte(ns), blob, message} {
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write(part)
	}
	return canonical.Digest(h.Sum(nil))
}
