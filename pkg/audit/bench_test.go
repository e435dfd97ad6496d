package audit

import (
	"bytes"
	"crypto/sha1"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"agentgateway-lock/pkg/source"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/sshsig"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/trust"
)

const (
	benchCommits   = 10_000
	benchDecisions = 1_000
	benchTools     = 100
)

// BenchmarkRatio holds the ratios that make bench prints.
//
// audit-vs-git is the time to verify a history of 10,000 commits, of which 1,000
// are signed and each add a decision, over the time git needs to show the
// signatures of those 1,000 commits.
func BenchmarkRatio(b *testing.B) {
	b.Run("audit-vs-git", func(b *testing.B) {
		w, signed := benchWorld(b)
		root := w.root()
		for b.Loop() {
			debug.FreeOSMemory()
			resetPeak()
			start := time.Now()
			repo, err := gitrepo.Open(b.Context(), w.dir, gitrepo.Options{})
			w.must(err)
			r, err := Verify(b.Context(), repo, Options{Now: testNow, Root: root})
			w.must(err)
			w.must(repo.Close())
			audit := time.Since(start)
			if r.Violation != nil || r.Decisions != benchDecisions || r.Commits != benchCommits-1 || len(r.Facts) != benchDecisions+1 {
				b.Fatalf("violation %v, %d decisions, %d commits", r.Violation, r.Decisions, r.Commits)
			}
			peak := readPeak()
			start = time.Now()
			w.showSignatures(signed)
			git := time.Since(start)
			b.ReportMetric(audit.Seconds()/git.Seconds(), "ratio")
			b.ReportMetric(audit.Seconds(), "audit-s")
			b.ReportMetric(git.Seconds(), "git-s")
			b.ReportMetric(peak, "peak-MiB")
		}
	})
}

func (w *world) showSignatures(ids []gitrepo.Hash) {
	var in strings.Builder
	for _, id := range ids {
		fmt.Fprintln(&in, id)
	}
	signers, err := w.chain().Current().Signed.AllowedSigners()
	w.must(err)
	file := filepath.Join(w.home, "allowed_signers")
	w.must(os.WriteFile(file, signers, 0o600))
	out := w.pipe(in.String(), "-c", "gpg.ssh.allowedSignersFile="+file, "log", "--no-walk=unsorted", "--stdin", "--show-signature")
	if n := strings.Count(out, `Good "git" signature`); n != len(ids) {
		w.t.Fatalf("git shows %d good signatures of %d", n, len(ids))
	}
}

// pipe runs git with an input.
func (w *world) pipe(in string, args ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = w.dir, strings.NewReader(in)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.Output()
	w.must(err)
	return string(out)
}

// benchWorld makes the history, and returns the commits that are signed.
func benchWorld(b testing.TB) (*world, []gitrepo.Hash) {
	w := newWorld(b)
	var in bytes.Buffer
	h := &benchHistory{world: w, out: &in, repository: w.chain().Repository(), version: w.chain().Digest()}
	h.file = h.lockfile()
	h.last = make([]canonical.Digest, benchTools)
	h.commit(map[string][]byte{"README": []byte("bench\n")})
	h.commit(map[string][]byte{trust.VersionPath(1): w.read(trust.VersionPath(1)), lockfile.DefaultName: lockfile.Format(h.file)})
	const every = benchCommits / benchDecisions
	for i := range benchCommits - 2 {
		if i%every == every/2 {
			h.commit(h.decision(i / every))
			continue
		}
		h.commit(map[string][]byte{fmt.Sprintf("src/%02d/f%d.go", i%40, i%7): fmt.Appendf(nil, "content %d\n", i)})
	}
	w.git("", "checkout", "-q", "--detach")
	w.git("", "branch", "-D", "main")
	w.pipe(in.String(), "fast-import", "--quiet")
	signed := h.sign()
	w.git("", "checkout", "-q", "main")
	w.git("", "repack", "-q", "-a", "-d", "-f") // as git does over time: fast-import packs badly
	w.git("", "prune")
	return w, signed
}

// A benchHistory writes the input of git fast-import.
type benchHistory struct {
	*world
	out                 io.Writer
	repository, version canonical.Digest
	file                *lockfile.File
	last                []canonical.Digest // the newest decision about each tool
	n                   int
}

func (h *benchHistory) lockfile() *lockfile.File {
	var tools []surface.Definition
	for i := range benchTools {
		name := fmt.Sprintf("tool%03d", i)
		tools = append(tools, h.tool(name, name))
	}
	s := surface.Surface{Lists: map[surface.Kind]surface.List{surface.KindTool: {Definitions: tools}}}
	f := &lockfile.File{GeneratedBy: "test", GeneratedAt: "2026-11-30T12:00:00.000Z"}
	f.Put(lockfile.FromSurface("files", &source.Source{Transport: source.Stdio, Command: "serve"}, []string{"tools"}, s))
	return f
}

func (h *benchHistory) commit(files map[string][]byte) {
	h.n++
	fmt.Fprintf(h.out, "commit refs/heads/main\ncommitter bob <bob@example.com> %d +0000\ndata 2\nm\n", testNow.Unix()+int64(h.n))
	for path, data := range files {
		fmt.Fprintf(h.out, "M 100644 inline %s\ndata %d\n%s\n", path, len(data), data)
	}
}

// decision decides about the tools in turn.
func (h *benchHistory) decision(i int) map[string][]byte {
	it := &h.file.Server("files").Lists[surface.KindTool][i%benchTools]
	item := trust.Item{
		Key: toolKey(it.Name), Digest: it.Digest, GatewayDigest: it.GatewayDigest, Previous: []canonical.Digest{},
		Serial: int64(i/benchTools) + 1, Grade: finding.Warning, Proposers: []string{"Alice"},
	}
	if item.Serial > 1 {
		item.Previous = append(item.Previous, h.last[i%benchTools])
	}
	d := h.forge("bob", &trust.Statement{
		Repository: h.repository, Lockfile: lockfile.DefaultName, Trust: h.version, Action: trust.Approve,
		Items: []trust.Item{item}, Reason: "for a benchmark", At: testNow.Unix(), By: "bob@example.com",
	})
	id := d.Statement.ID()
	h.last[i%benchTools], it.Decision = id, id
	return map[string][]byte{trust.DecisionPath(id): d.Format(), lockfile.DefaultName: lockfile.Format(h.file)}
}

// sign writes the history again, with a signature on each commit that adds a
// decision, and returns those.
func (h *benchHistory) sign() []gitrepo.Hash {
	dir := h.t.TempDir()
	var paths strings.Builder
	var signed []gitrepo.Hash
	parent := ""
	for i, line := range strings.Fields(h.git("", "log", "--reverse", "--format=%T", "main")) {
		raw := "tree " + line + "\n"
		if parent != "" {
			raw += "parent " + parent + "\n"
		}
		date := testNow.Unix() + int64(i)
		head := fmt.Sprintf("author bob <bob@example.com> %d +0000\ncommitter bob <bob@example.com> %d +0000\n", date, date)
		body := "\nm\n"
		sig := ""
		const every = benchCommits / benchDecisions
		if i >= 2 && (i-2)%every == every/2 {
			blob, err := h.key("bob").Sign(h.t.Context(), sshsig.NamespaceGit, []byte(raw+head+body))
			h.must(err)
			s, err := sshsig.ParseBlob(blob)
			h.must(err)
			sig = "gpgsig " + strings.ReplaceAll(strings.TrimSuffix(string(s.Armor()), "\n"), "\n", "\n ") + "\n"
		}
		raw += head + sig + body
		parent = fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "commit %d\x00%s", len(raw), raw)))
		if sig != "" {
			id, err := gitrepo.ParseHash(parent)
			h.must(err)
			signed = append(signed, id)
		}
		file := filepath.Join(dir, fmt.Sprint(i))
		h.must(os.WriteFile(file, []byte(raw), 0o600))
		fmt.Fprintln(&paths, file)
	}
	h.pipe(paths.String(), "hash-object", "-t", "commit", "-w", "--stdin-paths")
	h.git("", "update-ref", "refs/heads/main", parent)
	return signed
}

// resetPeak and readPeak measure the most memory that the process held at a time,
// where the system tells.
func resetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o200) }

func readPeak() float64 {
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kib float64
	_, _ = fmt.Sscanf(rest, "%f", &kib)
	return kib / 1024
}
