package trust

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/sshsig"
	"agentgateway-lock/pkg/surface"
)

// A DecisionFile is one file of the decisions folder.
type DecisionFile struct {
	Path string // from the folder that holds .agentgateway, as DecisionPath gives it
	Data []byte
}

// An InvalidFile is a file of the decisions folder that is no decision, or whose
// signatures do not verify. Nothing in it has any effect.
type InvalidFile struct {
	Path string
	Err  error
}

// A Ledger holds all decisions of a repository that are well formed and whose
// signatures verify. Whether their signers count is for [Evaluate]. It is
// immutable and safe for concurrent use.
type Ledger struct {
	entries map[canonical.Digest]*entry
	invalid []InvalidFile
	items   map[home]map[surface.Key][]ref
}

// home is the lockfile that a decision was made for.
type home struct {
	repository canonical.Digest
	lockfile   string
}

// entry is one verified decision.
type entry struct {
	id       canonical.Digest
	data     []byte // the file
	decision *Decision
	keys     []string // that signed
}

// ref is what one decision says of one item.
type ref struct {
	entry *entry
	item  *Item
	// fresh says, in a history, that nothing was in force of the item before.
	fresh bool
}

// NewLedger reads and verifies decision files, on all cores. Files that known has
// read already, byte for byte, are not verified again; known may be nil. A nil
// verifier means [SSH]. The files' bytes must not be changed afterwards. The error
// is a [*FormatError], for too many files.
func NewLedger(files []DecisionFile, known *Ledger, v Verifier) (*Ledger, error) {
	if len(files) > MaxDecisions {
		return nil, tooMany(len(files))
	}
	return collect(len(files), v, func(i int, v Verifier) (string, *entry, error, error) {
		e, invalid := readEntry(&files[i], known, v)
		return files[i].Path, e, invalid, nil
	})
}

func readEntry(f *DecisionFile, known *Ledger, v Verifier) (*entry, error) {
	id, ok := ParseDecisionPath(f.Path)
	if !ok {
		return nil, errPlace()
	}
	if known != nil {
		if e := known.entries[id]; e != nil && bytes.Equal(e.data, f.Data) {
			return e, nil
		}
	}
	d, text, err := parseDecision(f.Data)
	if err != nil {
		return nil, err
	}
	if actual := canonical.Sum(text); actual != id {
		return nil, &FormatError{Subject: decisionSubject, Rule: RuleValue, Detail: fmt.Sprintf("its statement has the id %v, and its file another name", actual)}
	}
	keys, err := verifyAll(v, text, d.Signatures, sshsig.NamespaceDecision)
	if err != nil {
		return nil, &FormatError{Subject: decisionSubject, Rule: RuleSignature, Detail: err.Error(), Err: err}
	}
	return &entry{id, f.Data, d, keys}, nil
}

func (l *Ledger) add(e *entry) {
	if l.entries[e.id] != nil {
		return
	}
	l.entries[e.id] = e
	at := home{e.decision.Statement.Repository, e.decision.Statement.Lockfile}
	items := l.items[at]
	if items == nil {
		items = map[surface.Key][]ref{}
		l.items[at] = items
	}
	for i := range e.decision.Statement.Items {
		it := &e.decision.Statement.Items[i]
		items[it.Key] = append(items[it.Key], ref{entry: e, item: it})
	}
}

// Len is the number of decisions.
func (l *Ledger) Len() int { return len(l.entries) }

// Decision returns the decision of that id, or nil. It must not be changed.
func (l *Ledger) Decision(id canonical.Digest) *Decision {
	if e := l.entries[id]; e != nil {
		return e.decision
	}
	return nil
}

// Files returns the files of the decisions that were made for the lockfile of that
// path, by id. Those that no chain leads to are among them: what they say of a chain,
// that it forked, has to hold wherever the lockfile goes.
func (l *Ledger) Files(lockfile string) []DecisionFile {
	var files []DecisionFile
	for _, id := range l.IDs() {
		if e := l.entries[id]; e.decision.Statement.Lockfile == lockfile {
			files = append(files, DecisionFile{DecisionPath(id), e.data})
		}
	}
	return files
}

// Keys returns the keys that signed the decision of that id.
func (l *Ledger) Keys(id canonical.Digest) []string {
	if e := l.entries[id]; e != nil {
		return slices.Clone(e.keys)
	}
	return nil
}

// IDs returns the ids of all decisions, sorted.
func (l *Ledger) IDs() []canonical.Digest {
	return slices.SortedFunc(maps.Keys(l.entries), compareDigests)
}

// Invalid returns the files that are no decisions.
func (l *Ledger) Invalid() []InvalidFile { return l.invalid }

// of returns what the decision of that id says of an item; ok is false where it
// says nothing.
func (e *entry) of(key surface.Key) (ref, bool) {
	items := e.decision.Statement.Items
	i, ok := slices.BinarySearchFunc(items, key, func(it Item, key surface.Key) int { return it.Compare(key) })
	if !ok {
		return ref{}, false
	}
	return ref{entry: e, item: &items[i]}, true
}
