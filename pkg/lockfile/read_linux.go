package lockfile

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"agentgateway-lock/pkg/internal/bounded"
)

// readNoLinks reads a regular file below folder. The kernel refuses links on the
// way in one step, which is faster than looking at each part and leaves no time
// to put one in. The error is [errors.ErrUnsupported] where it cannot.
func readNoLinks(folder *os.File, name string, limit int64) ([]byte, error) {
	if !fs.ValidPath(name) {
		return nil, errors.ErrUnsupported
	}
	// O_NONBLOCK: opening a named pipe must not wait for a writer.
	fd, err := unix.Openat2(int(folder.Fd()), name, &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOCTTY,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH,
	})
	if err != nil {
		if errors.Is(err, unix.ENOENT) {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
		// The other way finds what is wrong, and says where.
		return nil, errors.ErrUnsupported
	}
	data, err := readDescriptor(fd, name, limit)
	return data, errors.Join(err, unix.Close(fd))
}

func readDescriptor(fd int, name string, limit int64) ([]byte, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, &LinkError{Path: name}
	}
	return bounded.Read(descriptor(fd), name, stat.Size, limit)
}

// A descriptor reads from an open file.
type descriptor int

func (d descriptor) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(int(d), p)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return 0, err
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		}
		return n, nil
	}
}
