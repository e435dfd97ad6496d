package lockfile_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/source"
	"agentgateway-lock/pkg/surface"
)

// A faulty is an FS that goes wrong at one step. Steps are what changes something.
type faulty struct {
	lockfile.FS
	step   int   // counts
	at     int   // from 1; 0 for never
	err    error // of that step
	dead   bool  // nothing works from that step on, as after a kill
	halved bool  // a file that cannot be written is written by half
	log    []string
}

var errKilled = errors.New("killed")

func (f *faulty) fails(op, name string) error {
	f.step++
	f.log = append(f.log, op+" "+name)
	if f.at != 0 && (f.step == f.at || f.dead && f.step > f.at) {
		return f.err
	}
	return nil
}

func (f *faulty) Mkdir(name string) error {
	if err := f.fails("mkdir", name); err != nil {
		return err
	}
	return f.FS.Mkdir(name)
}

func (f *faulty) Create(name string, data []byte, sync bool) error {
	if err := f.fails("create", name); err != nil {
		if f.halved {
			err = errors.Join(err, f.FS.Create(name, data[:len(data)/2], false))
		}
		return err
	}
	return f.FS.Create(name, data, sync)
}

func (f *faulty) Rename(from, to string) error {
	if err := f.fails("rename", to); err != nil {
		return err
	}
	return f.FS.Rename(from, to)
}

func (f *faulty) Remove(name string) error {
	if err := f.fails("remove", name); err != nil {
		return err
	}
	return f.FS.Remove(name)
}

func (f *faulty) SyncDir(name string) error {
	if err := f.fails("sync", name); err != nil {
		return err
	}
	return f.FS.SyncDir(name)
}

func (f *faulty) Lock(name string) (func() error, error) {
	if err := f.fails("lock", name); err != nil {
		return nil, err
	}
	unlock, err := f.FS.Lock(name)
	if err != nil {
		return nil, err
	}
	return func() error {
		if err := f.fails("unlock", name); err != nil && f.dead {
			return errors.Join(err, unlock()) // the system ends the lock with the process
		}
		return unlock()
	}, nil
}

func openDir(t testing.TB) (string, *lockfile.Dir) {
	t.Helper()
	path := t.TempDir()
	dir, err := lockfile.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
	})
	return path, dir
}

// tree returns all files below a folder with what they hold.
func tree(t testing.TB, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(folder, path)
		files[filepath.ToSlash(name)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// change makes a change of the server demo to a surface.
func change(t testing.TB, store *lockfile.Store, s surface.Surface) lockfile.Change {
	t.Helper()
	old, err := store.Read()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	current := &lockfile.File{GeneratedBy: "test@1", GeneratedAt: "2026-11-30T12:00:00.000Z"}
	if old != nil {
		current.GeneratedBy, current.GeneratedAt = old.GeneratedBy, old.GeneratedAt
	}
	current.Put(lockfile.FromSurface("demo", &source.Source{Transport: stdio, Command: "demo"}, surface.DefaultCovers(), s))
	return lockfile.Change{Old: old, New: current, Surfaces: map[string]surface.Surface{"demo": s}}
}

func write(t testing.TB, store *lockfile.Store, s surface.Surface) lockfile.Result {
	t.Helper()
	result, err := store.Write(context.Background(), change(t, store, s))
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func before(t testing.TB) surface.Surface {
	s := tools(t, ping, pong)
	s.Instructions = surface.NewInstructions("Be kind.\n")
	return s
}

// after has a changed tool, a new one and one less, and other instructions.
func after(t testing.TB) surface.Surface {
	s := tools(t, strings.Replace(ping, "Answers.", "Answers twice.", 1), `{"name":"new"}`)
	s.Instructions = surface.NewInstructions("Be mean.")
	return s
}

func TestWrite(t *testing.T) {
	folder, dir := openDir(t)
	store := lockfile.NewStore(dir, "")
	const definitions = ".agentgateway/definitions/demo/"
	result := write(t, store, before(t))
	want := lockfile.Result{Lockfile: true, Written: []string{definitions + "instructions.txt", definitions + "tool/ping.json", definitions + "tool/pong.json"}}
	if diff := cmp.Diff(want, result); diff != "" {
		t.Error(diff)
	}
	files := tree(t, folder)
	names := slices.Sorted(maps.Keys(files))
	if diff := cmp.Diff(append(want.Written, "agentgateway.lock"), names); diff != "" {
		t.Error(diff)
	}
	if files[definitions+"instructions.txt"] != "Be kind.\n\n" {
		t.Errorf("instructions %q", files[definitions+"instructions.txt"])
	}

	long := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	for name := range files {
		if err := os.Chtimes(filepath.Join(folder, name), long, long); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(lockfile.Result{}, write(t, store, before(t))); diff != "" {
		t.Error("a second write writes:", diff)
	}
	result = write(t, store, after(t))
	want = lockfile.Result{
		Lockfile: true, Written: []string{definitions + "instructions.txt", definitions + "tool/new.json", definitions + "tool/ping.json"},
		Removed: []string{definitions + "tool/pong.json"},
	}
	if diff := cmp.Diff(want, result); diff != "" {
		t.Error(diff)
	}
	f, err := store.Read()
	if err != nil {
		t.Fatal(err)
	}
	if findings := lockfile.CheckCopies(f, store.ReadCopy); len(findings) > 0 {
		t.Error(findings)
	}
}

func TestWriteTouchesNothingThatIsEqual(t *testing.T) {
	folder, dir := openDir(t)
	fsys := &faulty{FS: dir}
	store := lockfile.NewStore(fsys, "")
	write(t, store, before(t))
	names := tree(t, folder)
	for name, data := range names {
		if strings.HasPrefix(name, ".agentgateway") {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(strings.ReplaceAll(data, "\n", "\r\n")), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	fsys.log = nil
	write(t, store, before(t))
	if len(fsys.log) > 0 {
		t.Errorf("steps %v", fsys.log)
	}
}

// A run that is killed at any step leaves a whole lockfile, what does not fit is
// found, and the next run mends all of it.
func TestKilledAtEveryStep(t *testing.T) {
	wantFolder, wantDir := openDir(t)
	wantStore := lockfile.NewStore(wantDir, "")
	write(t, wantStore, before(t))
	old := tree(t, wantFolder)
	write(t, wantStore, after(t))
	want := tree(t, wantFolder)

	for at := 1; ; at++ {
		folder, dir := openDir(t)
		write(t, lockfile.NewStore(dir, ""), before(t))
		fsys := &faulty{FS: dir, at: at, err: errKilled, dead: true, halved: true}
		store := lockfile.NewStore(fsys, "")
		_, err := store.Write(context.Background(), change(t, store, after(t)))
		if err == nil {
			if at < 10 {
				t.Errorf("only %d steps: %v", at, fsys.log)
			}
			return
		}
		name := fmt.Sprintf("%d: %s", at, fsys.log[at-1])
		now := tree(t, folder)
		whole := now["agentgateway.lock"]
		if whole != old["agentgateway.lock"] && whole != want["agentgateway.lock"] {
			t.Errorf("%s: the lockfile is neither the old nor the new:\n%s", name, whole)
		}
		checkNamesWhatDiffers(t, name, dir, now, map[bool]map[string]string{true: old, false: want}[whole == old["agentgateway.lock"]])
		write(t, lockfile.NewStore(dir, ""), after(t))
		if diff := cmp.Diff(want, tree(t, folder)); diff != "" {
			t.Errorf("%s: not fixed: %s", name, diff)
		}
	}
}

// checkNamesWhatDiffers checks that CheckCopies finds just the copies that are not
// as the lockfile asks.
func checkNamesWhatDiffers(t *testing.T, name string, dir *lockfile.Dir, have, want map[string]string) {
	t.Helper()
	store := lockfile.NewStore(dir, "")
	f, err := store.Read()
	if err != nil {
		t.Fatal(name, err)
	}
	differ := map[surface.Key]finding.Code{}
	for _, c := range lockfile.NewLayout(f).Copies {
		if text, ok := have[c.Path]; !ok {
			differ[c.Key] = finding.DefinitionMissing
		} else if text != want[c.Path] {
			differ[c.Key] = finding.DefinitionMismatch
		}
	}
	found := map[surface.Key]finding.Code{}
	for _, f := range lockfile.CheckCopies(f, store.ReadCopy) {
		found[f.Place.Item()] = f.Code
	}
	if diff := cmp.Diff(differ, found); diff != "" {
		t.Errorf("%s: %s", name, diff)
	}
}

// A disk that is full at any step leaves the old lockfile and no temporary file,
// or the new one, and an error that names the path.
func TestFullDiskAtEveryStep(t *testing.T) {
	for _, cause := range []error{syscall.ENOSPC, syscall.EACCES} {
		for at := 1; ; at++ {
			folder, dir := openDir(t)
			write(t, lockfile.NewStore(dir, ""), before(t))
			old := tree(t, folder)
			fsys := &faulty{FS: dir, at: at, err: &fs.PathError{Op: "write", Path: "somewhere", Err: cause}, halved: errors.Is(cause, syscall.ENOSPC)}
			store := lockfile.NewStore(fsys, "")
			_, err := store.Write(context.Background(), change(t, store, after(t)))
			if at > len(fsys.log) {
				break
			}
			step := fsys.log[at-1]
			name := fmt.Sprintf("%v at %d: %s", cause, at, step)
			now := tree(t, folder)
			var failed *lockfile.WriteError
			if strings.HasPrefix(step, "unlock") {
				continue
			}
			if !errors.As(err, &failed) || !errors.Is(err, cause) || !strings.Contains(err.Error(), failed.Path) || strings.Contains(err.Error(), "somewhere") {
				t.Errorf("%s: error %v", name, err)
				continue
			}
			if committed := now["agentgateway.lock"] != old["agentgateway.lock"]; committed != failed.Committed {
				t.Errorf("%s: committed %v, the error says %v", name, committed, failed.Committed)
			}
			if !strings.HasPrefix(step, "remove") {
				for file := range now {
					if strings.Contains(file, "stage") || strings.HasSuffix(file, ".tmp") || strings.HasSuffix(file, "write.lock") {
						t.Errorf("%s: %s is left", name, file)
					}
				}
			}
		}
	}
}

// What is staged before anything is replaced finds a full disk in time.
func TestFullDiskWhileStagingChangesNothing(t *testing.T) {
	folder, dir := openDir(t)
	write(t, lockfile.NewStore(dir, ""), before(t))
	old := tree(t, folder)
	fsys := &faulty{FS: dir}
	store := lockfile.NewStore(fsys, "")
	for at := 1; ; at++ {
		fsys.step, fsys.at, fsys.log, fsys.err, fsys.halved = 0, at, nil, syscall.ENOSPC, true
		_, err := store.Write(context.Background(), change(t, store, after(t)))
		if step := fsys.log[at-1]; strings.HasPrefix(step, "rename") {
			return
		}
		if err == nil {
			t.Fatal("no error")
		}
		if diff := cmp.Diff(old, tree(t, folder)); diff != "" {
			t.Errorf("step %s: %s", fsys.log[at-1], diff)
		}
	}
}

func TestWriteRefusesLinks(t *testing.T) {
	for _, link := range []string{
		"agentgateway.lock", ".agentgateway", ".agentgateway/definitions", ".agentgateway/definitions/demo",
		".agentgateway/definitions/demo/tool", ".agentgateway/definitions/demo/tool/ping.json", ".agentgateway/write.lock",
	} {
		t.Run(link, func(t *testing.T) {
			folder, dir := openDir(t)
			store := lockfile.NewStore(dir, "")
			write(t, store, before(t))
			c := change(t, store, after(t))
			path := filepath.Join(folder, link)
			target := filepath.Join(folder, "elsewhere")
			if _, err := os.Lstat(path); err == nil {
				if err := os.Rename(path, target); err != nil {
					t.Fatal(err)
				}
			} else if err := os.WriteFile(target, []byte("precious"), 0o666); err != nil {
				t.Fatal(err)
			}
			relative, err := filepath.Rel(filepath.Dir(path), target)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(relative, path); err != nil {
				t.Fatal(err)
			}
			old := tree(t, target)
			_, err = store.Write(context.Background(), c)
			var refused *lockfile.LinkError
			if !errors.As(err, &refused) || refused.Path != link {
				t.Errorf("error %v, want a LinkError of %s", err, link)
			}
			if diff := cmp.Diff(old, tree(t, target)); diff != "" {
				t.Error("written through the link:", diff)
			}
		})
	}
}

// A stage that is a link is removed, not what it leads to.
func TestLinkedStageIsNotFollowed(t *testing.T) {
	folder, dir := openDir(t)
	store := lockfile.NewStore(dir, "")
	write(t, store, before(t))
	if err := os.Mkdir(filepath.Join(folder, "precious"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "precious", "file"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../precious", filepath.Join(folder, ".agentgateway", "stage")); err != nil {
		t.Fatal(err)
	}
	write(t, store, after(t))
	if _, ok := tree(t, folder)["precious/file"]; !ok {
		t.Error("the link was followed")
	}
}

func TestSecondWriter(t *testing.T) {
	folder, dir := openDir(t)
	store := lockfile.NewStore(dir, "")
	store.Wait = time.Millisecond
	write(t, store, before(t))
	unlock, err := dir.Lock(".agentgateway/write.lock")
	if err != nil {
		t.Fatal(err)
	}
	c := change(t, store, after(t))
	old := tree(t, folder)
	_, err = store.Write(context.Background(), c)
	var held *lockfile.LockedError
	if !errors.As(err, &held) || held.PID != os.Getpid() || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("error %v, want a LockedError of this process", err)
	}
	if diff := cmp.Diff(old, tree(t, folder)); diff != "" {
		t.Error(diff)
	}
	store.Wait = time.Minute
	done := make(chan error)
	go func() {
		_, err := store.Write(context.Background(), c)
		done <- err
	}()
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("after the lock was released: %v", err)
	}
}

// A lock file that a killed run left does no harm.
func TestStaleLock(t *testing.T) {
	folder, dir := openDir(t)
	store := lockfile.NewStore(dir, "")
	if err := os.Mkdir(filepath.Join(folder, ".agentgateway"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, ".agentgateway", "write.lock"), []byte("1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	write(t, store, before(t))
	if _, ok := tree(t, folder)[".agentgateway/write.lock"]; ok {
		t.Error("the lock file is left")
	}
}

func TestWriteRefusesALostUpdate(t *testing.T) {
	folder, dir := openDir(t)
	store := lockfile.NewStore(dir, "")
	first := change(t, store, before(t))
	write(t, store, after(t))
	old := tree(t, folder)
	if _, err := store.Write(context.Background(), first); !errors.Is(err, lockfile.ErrChanged) {
		t.Errorf("error %v, want ErrChanged", err)
	}
	if diff := cmp.Diff(old, tree(t, folder)); diff != "" {
		t.Error(diff)
	}
}

// A copy moves where a twin of its name comes or goes, also without its server
// being listed.
func TestCopiesMove(t *testing.T) {
	folder, dir := openDir(t)
	store := lockfile.NewStore(dir, "")
	write(t, store, before(t))
	add := func(name string) {
		old, err := store.Read()
		if err != nil {
			t.Fatal(err)
		}
		current, err := store.Read()
		if err != nil {
			t.Fatal(err)
		}
		current.Put(lockfile.FromSurface(name, nil, surface.DefaultCovers(), tools(t, pong)))
		_, err = store.Write(context.Background(), lockfile.Change{Old: old, New: current, Surfaces: map[string]surface.Surface{name: tools(t, pong)}})
		if err != nil {
			t.Fatal(err)
		}
	}
	add("Demo")
	f, err := store.Read()
	if err != nil {
		t.Fatal(err)
	}
	if findings := lockfile.CheckCopies(f, store.ReadCopy); len(findings) > 0 {
		t.Error(findings)
	}
	const definitions = ".agentgateway/definitions/"
	want := []string{
		definitions + "Demo~" + sum("Demo").String()[:12] + "/tool/pong.json",
		definitions + "demo~" + sum("demo").String()[:12] + "/instructions.txt",
		definitions + "demo~" + sum("demo").String()[:12] + "/tool/ping.json",
		definitions + "demo~" + sum("demo").String()[:12] + "/tool/pong.json",
		"agentgateway.lock",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(tree(t, folder)))); diff != "" {
		t.Error(diff)
	}
}

func TestApprovedCopies(t *testing.T) {
	folder, dir := openDir(t)
	store := lockfile.NewStore(dir, "")
	write(t, store, before(t))
	key := surface.Key{Server: "demo", Kind: surface.KindTool, Name: "ping"}
	instructions := surface.Key{Server: "demo", Kind: surface.KindInstructions}
	const approved = ".agentgateway/definitions/demo/tool/ping.approved.json"

	c := change(t, store, after(t))
	text, err := canonical.Append(nil, []byte(ping))
	if err != nil {
		t.Fatal(err)
	}
	c.Approved = map[surface.Key][]byte{key: text, instructions: []byte("Be kind.\n")}
	if _, err := store.Write(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	files := tree(t, folder)
	if files[approved] != string(lockfile.FormatCopy(text)) || files[".agentgateway/definitions/demo/instructions.approved.txt"] != "Be kind.\n\n" {
		t.Errorf("files %v", files)
	}
	c = change(t, store, after(t))
	c.Approved = map[surface.Key][]byte{key: nil}
	result, err := store.Write(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(lockfile.Result{Removed: []string{".agentgateway/definitions/demo/instructions.approved.txt"}}, result); diff != "" {
		t.Error(diff)
	}
	if tree(t, folder)[approved] != files[approved] {
		t.Error("a text to keep is not kept")
	}
}

// An absent item keeps the copy of the text that was decided.
func TestAbsentItemsKeepTheirCopy(t *testing.T) {
	_, dir := openDir(t)
	store := lockfile.NewStore(dir, "")
	c := change(t, store, before(t))
	c.New.Server("demo").Item(surface.KindTool, "pong").Decision = digest(1)
	if _, err := store.Write(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	c = change(t, store, after(t))
	lockfile.Carry(c.Old.Server("demo"), c.New.Server("demo"))
	if _, err := store.Write(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	f, err := store.Read()
	if err != nil {
		t.Fatal(err)
	}
	if it := f.Server("demo").Item(surface.KindTool, "pong"); it == nil || !it.Absent {
		t.Errorf("item %v", it)
	}
	if findings := append(lockfile.Check(f), lockfile.CheckCopies(f, store.ReadCopy)...); len(findings) > 0 {
		t.Error(findings)
	}
}

func TestForeignFilesAreLeftAlone(t *testing.T) {
	folder, dir := openDir(t)
	store := lockfile.NewStore(dir, "")
	write(t, store, before(t))
	readme := filepath.Join(folder, ".agentgateway", "definitions", "README.md")
	if err := os.WriteFile(readme, []byte("ours"), 0o666); err != nil {
		t.Fatal(err)
	}
	write(t, store, after(t))
	if _, err := os.Stat(readme); err != nil {
		t.Error(err)
	}
	files, err := store.Files()
	if err != nil || !slices.Contains(files, ".agentgateway/definitions/README.md") {
		t.Errorf("files %v, %v", files, err)
	}
}

func TestReadErrors(t *testing.T) {
	folder, dir := openDir(t)
	store := lockfile.NewStore(dir, "sub/other.lock")
	if _, err := store.Read(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want ErrNotExist", err)
	}
	if err := os.MkdirAll(filepath.Join(folder, "sub", "other.lock"), 0o777); err != nil {
		t.Fatal(err)
	}
	var link *lockfile.LinkError
	if _, err := store.Read(); !errors.As(err, &link) {
		t.Errorf("error %v, want a LinkError", err)
	}
	if err := os.Remove(filepath.Join(folder, "sub", "other.lock")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "sub", "other.lock"), []byte("{}"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := store.Read()
	var wrong *lockfile.Error
	if !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), "sub/other.lock: line 1, column 1") {
		t.Errorf("error %v", err)
	}
}
