package gitrepo

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // the size of its ids
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// ErrNothingToCommit says that the given paths are already committed as they are.
var ErrNothingToCommit = errors.New("nothing to commit: the files are as they were committed")

// Signer signs the exact bytes of a commit or tag and gives the armored
// signature. For git to verify it, it is an SSHSIG in the namespace "git".
type Signer func(ctx context.Context, payload []byte) (armored []byte, err error)

// CommitOptions say what to commit.
type CommitOptions struct {
	// Paths are files from the root of the work tree, "/" between elements. One
	// that is not in the work tree any more is removed by the commit.
	Paths   []string
	Message string
	Sign    Signer // nil makes an unsigned commit
	// RunHooks also runs hooks that lie inside the work tree, which are part of
	// what is being reviewed. Other hooks always run.
	RunHooks bool
	// AuthorName and AuthorEmail replace git's own author where both are set.
	AuthorName, AuthorEmail string
}

// Commit commits just the given files to the branch that HEAD is on, whatever
// else is staged or changed, and stages them as committed. The bytes committed
// are those of the files: no line ending conversion, no filter. It makes the
// first commit of an empty repository too.
//
// It fails, before anything is signed, with *BusyError, ErrNoIdentity,
// ErrBare, ErrNothingToCommit, *WorktreeError for a path that is no regular
// file, or *HookError. Where the branch moved meanwhile it fails and the branch
// stays. An error that comes with a commit id means that the commit was made
// and staging the files failed.
func (r *Repo) Commit(ctx context.Context, opts CommitOptions) (Hash, error) {
	if r.root == "" {
		return Hash{}, ErrBare
	}
	message, err := cleanMessage(opts.Message)
	if err != nil {
		return Hash{}, err
	}
	draft, err := r.draft(ctx, opts)
	if err != nil {
		return Hash{}, err
	}
	if message, err = r.beforeCommit(ctx, opts.RunHooks, draft.tree, message); err != nil {
		return Hash{}, err
	}
	raw := append(draft.headers(), message...)
	if opts.Sign != nil {
		if raw, err = signCommit(ctx, raw, opts.Sign); err != nil {
			return Hash{}, err
		}
	}
	id, err := r.writeObject(ctx, KindCommit, raw)
	if err != nil {
		return Hash{}, err
	}
	subject, _, _ := strings.Cut(string(message), "\n")
	if err := r.moveHead(ctx, id, draft.parent, subject); err != nil {
		return Hash{}, err
	}
	if err := r.stage(ctx, draft); err != nil {
		return id, fmt.Errorf("commit %s was made, but its files could not be staged (git reset -q -- FILE… fixes that): %w", id.Short(), err)
	}
	r.afterCommit(ctx, opts.RunHooks)
	return id, nil
}

// draft is a commit before it has a message.
type draft struct {
	parent            Hash // zero for the first commit of a branch
	tree              Hash
	author, committer string
	changes           map[string]Entry // by path; a zero Entry removes
	noFilters         []string         // environment for writing the index
}

func (d *draft) headers() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "tree %s\n", d.tree)
	if !d.parent.IsZero() {
		fmt.Fprintf(&b, "parent %s\n", d.parent)
	}
	fmt.Fprintf(&b, "author %s\ncommitter %s\n\n", d.author, d.committer)
	return b.Bytes()
}

func (r *Repo) draft(ctx context.Context, opts CommitOptions) (*draft, error) {
	parent, oldTree, err := r.tip(ctx)
	if err != nil {
		return nil, err
	}
	d := &draft{parent: parent}
	if d.committer, err = r.identity(ctx, committerVar); err != nil {
		return nil, err
	}
	if d.author, err = r.authorLine(ctx, opts); err != nil {
		return nil, err
	}
	if d.noFilters, err = r.withoutFilters(ctx); err != nil {
		return nil, err
	}
	idSize, err := r.idSize(ctx)
	if err != nil {
		return nil, err
	}
	objects := &newObjects{idSize: idSize}
	if d.changes, err = r.readPaths(ctx, opts.Paths, oldTree, objects); err != nil {
		return nil, err
	}
	d.tree, err = r.newTree(ctx, oldTree, d.changes, objects, "")
	switch {
	case err != nil:
		return nil, err
	case d.tree == oldTree:
		return nil, ErrNothingToCommit
	case d.tree.IsZero():
		d.tree = objects.add(KindTree, nil)
	}
	return d, objects.store(ctx, r.git)
}

// tip gives the commit and tree that HEAD stands on; zero in an empty repository.
func (r *Repo) tip(ctx context.Context) (commit, tree Hash, err error) {
	var busy *BusyError
	if err := r.Busy(ctx); errors.As(err, &busy) && busy.State == StateUnborn {
		return Hash{}, Hash{}, nil
	} else if err != nil {
		return Hash{}, Hash{}, err
	}
	if commit, err = r.Resolve(ctx, "HEAD"); err != nil {
		return Hash{}, Hash{}, err
	}
	tree, err = r.TreeOf(ctx, commit)
	return commit, tree, err
}

func (r *Repo) authorLine(ctx context.Context, opts CommitOptions) (string, error) {
	line, err := r.identity(ctx, authorVar)
	if err != nil || opts.AuthorName == "" || opts.AuthorEmail == "" {
		return line, err
	}
	if strings.ContainsAny(opts.AuthorName+opts.AuthorEmail, "<>\n\x00") {
		return "", fmt.Errorf("author %q <%q> cannot be written in a commit", opts.AuthorName, opts.AuthorEmail)
	}
	_, when, _ := strings.Cut(line, ">")
	return opts.AuthorName + " <" + opts.AuthorEmail + ">" + when, nil
}

// idSize is the length of the repository's object ids in bytes.
func (r *Repo) idSize(ctx context.Context) (int, error) {
	format, err := r.git.line(ctx, "rev-parse", "--show-object-format")
	switch {
	case err != nil:
		return 0, err
	case format == "sha1":
		return sha1.Size, nil
	case format == "sha256":
		return sha256.Size, nil
	}
	return 0, &UnsupportedError{Dir: r.gitDir, Err: fmt.Errorf("object format %q", format)}
}

// readPaths reads the files to commit and queues their blobs.
func (r *Repo) readPaths(ctx context.Context, paths []string, tree Hash, objects *newObjects) (map[string]Entry, error) {
	changes := make(map[string]Entry, len(paths))
	for _, path := range paths {
		name := path[strings.LastIndexByte(path, '/')+1:]
		body, mode, err := r.workFile(path, r.maxObject)
		var work *WorktreeError
		switch {
		case err == nil:
			changes[path] = Entry{Name: name, Mode: mode, ID: objects.add(KindBlob, body)}
			continue
		case !errors.As(err, &work) || work.Problem != Absent:
			return nil, err
		}
		old, found, lookupErr := Entry{}, false, error(nil)
		if !tree.IsZero() {
			old, found, lookupErr = r.Lookup(ctx, tree, path)
		}
		if lookupErr != nil {
			return nil, lookupErr
		}
		if !found || old.Mode == ModeFolder {
			return nil, err
		}
		changes[path] = Entry{}
	}
	return changes, nil
}

// newTree queues the folder that base becomes by the changes, whose paths are
// relative to it, and gives its id; zero where nothing is left in it.
func (r *Repo) newTree(ctx context.Context, base Hash, changes map[string]Entry, objects *newObjects, at string) (Hash, error) {
	old, err := r.treeOrNone(ctx, base)
	if err != nil {
		return Hash{}, err
	}
	entries := make(map[string]Entry, len(old)+len(changes))
	for _, e := range old {
		entries[e.Name] = e
	}
	inner := map[string]map[string]Entry{}
	for path, entry := range changes {
		name, rest, deeper := strings.Cut(path, "/")
		switch was, there := entries[name]; {
		case deeper:
			if inner[name] == nil {
				inner[name] = map[string]Entry{}
			}
			inner[name][rest] = entry
		case entry.Mode == 0:
			delete(entries, name)
		case there && !was.Mode.IsFile(): // nor is a submodule or a symlink replaced
			return Hash{}, &ModeError{Path: at + name, Mode: was.Mode}
		default:
			entries[name] = entry
		}
	}
	for name, below := range inner {
		folder, there := entries[name]
		if there && folder.Mode != ModeFolder {
			return Hash{}, &ModeError{Path: at + name, Mode: folder.Mode}
		}
		id, err := r.newTree(ctx, folder.ID, below, objects, at+name+"/")
		if err != nil {
			return Hash{}, err
		}
		entries[name] = Entry{Name: name, Mode: ModeFolder, ID: id}
		if id.IsZero() {
			delete(entries, name)
		}
	}
	if len(entries) == 0 {
		return Hash{}, nil
	}
	sorted := slices.SortedFunc(maps.Values(entries), compareEntries)
	return objects.add(KindTree, formatTree(sorted)), nil
}

func compareEntries(a, b Entry) int {
	switch {
	case treeLess(a, b):
		return -1
	case treeLess(b, a):
		return 1
	}
	return 0
}

// formatTree is the opposite of ParseTree.
func formatTree(entries []Entry) []byte {
	var b bytes.Buffer
	for _, e := range entries {
		fmt.Fprintf(&b, "%o %s\x00", uint32(e.Mode), e.Name)
		b.Write(e.ID.b[:e.ID.n])
	}
	return b.Bytes()
}

// cleanMessage gives a message the form git gives it: no white space at line
// ends and at the end, one newline last.
func cleanMessage(text string) ([]byte, error) {
	if !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\r") {
		return nil, errors.New("the message is not plain UTF-8 text with line feeds")
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t")
	}
	text = strings.Trim(strings.Join(lines, "\n"), "\n")
	if text == "" {
		return nil, errors.New("the message is empty")
	}
	return []byte(text + "\n"), nil
}

// signCommit signs an unsigned commit and adds the signature as its last header.
func signCommit(ctx context.Context, payload []byte, sign Signer) ([]byte, error) {
	armored, err := sign(ctx, payload)
	if err != nil {
		return nil, fmt.Errorf("signing the commit: %w", err)
	}
	unsigned, err := ParseCommit(payload)
	if err != nil {
		return nil, err
	}
	name := "gpgsig"
	if unsigned.Tree.Size() == sha256.Size {
		name = "gpgsig-sha256"
	}
	armored = bytes.TrimRight(armored, "\n")
	cut := bytes.Index(payload, []byte("\n\n")) + 1
	var b bytes.Buffer
	b.Write(payload[:cut])
	b.WriteString(name + " ")
	b.Write(bytes.ReplaceAll(armored, []byte("\n"), []byte("\n ")))
	b.WriteByte('\n')
	b.Write(payload[cut:])
	signed, err := ParseCommit(b.Bytes())
	switch {
	case err != nil:
		return nil, fmt.Errorf("signing the commit: %w", err)
	case !bytes.Equal(signed.Payload, payload) || !bytes.Equal(bytes.TrimRight(signed.Signature, "\n"), armored):
		return nil, errors.New("signing the commit: the signature is not plain armored text")
	}
	return b.Bytes(), nil
}

// writeObject stores one object; git checks its form and computes its id.
func (r *Repo) writeObject(ctx context.Context, kind Kind, raw []byte) (Hash, error) {
	out, err := r.git.run(ctx, gitCall{args: []string{"hash-object", "-t", string(kind), "-w", "--stdin"}, stdin: raw})
	if err != nil {
		return Hash{}, fmt.Errorf("storing the %s: %w", kind, err)
	}
	return ParseHash(strings.TrimSuffix(string(out), "\n"))
}

// moveHead moves the branch from old to new, unless it moved meanwhile.
func (r *Repo) moveHead(ctx context.Context, new, old Hash, subject string) error {
	what := "commit: "
	if old.IsZero() {
		what = "commit (initial): "
	}
	_, err := r.git.run(ctx, gitCall{args: []string{"update-ref", "-m", what + subject, "HEAD", new.String(), orZeros(old, new)}})
	if err != nil {
		return fmt.Errorf("the branch was not moved to commit %s: %w", new.Short(), err)
	}
	return nil
}

// orZeros writes h, or the all-zero id of the length of like's.
func orZeros(h, like Hash) string {
	if h.IsZero() {
		return strings.Repeat("0", 2*like.Size())
	}
	return h.String()
}

// stage puts what was committed into the index and leaves the rest of it.
func (r *Repo) stage(ctx context.Context, d *draft) error {
	var b bytes.Buffer
	for path, e := range d.changes {
		fmt.Fprintf(&b, "%o %s\t%s\x00", uint32(e.Mode), orZeros(e.ID, d.tree), path)
	}
	_, err := r.git.run(ctx, gitCall{args: []string{"update-index", "-z", "--index-info"}, stdin: b.Bytes(), env: d.noFilters})
	return err
}

// withoutFilters gives the variables that switch off every configured filter.
// Writing an index compares files as young as the index itself, through the
// filters that attributes name for them.
func (r *Repo) withoutFilters(ctx context.Context) ([]string, error) {
	out, err := r.git.run(ctx, gitCall{args: []string{"config", "-z", "--name-only", "--get-regexp", `^filter\.`}, config: true})
	if exitCode(err) == 1 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the filters of git's configuration: %w", err)
	}
	var env []string
	n := 0
	for key := range strings.SplitSeq(string(trimNUL(out)), "\x00") {
		value := ""
		if strings.HasSuffix(key, ".required") {
			value = "false"
		}
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, value))
		n++
	}
	return append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", n)), nil
}
