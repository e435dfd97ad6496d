//go:build !linux

package lockfile

import (
	"errors"
	"os"
)

// readNoLinks is for systems that refuse links in one step.
func readNoLinks(*os.File, string, int64) ([]byte, error) { return nil, errors.ErrUnsupported }
