// Package seal signs and verifies a lockfile as a whole: who said that this is
// the lockfile to enforce.
package seal
