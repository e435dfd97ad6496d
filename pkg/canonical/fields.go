package canonical

import "fmt"

// A Field is one member of an object that a format has, and how its value is read.
type Field struct {
	Name     string
	Read     func() error
	Optional bool // it may be left out
}

// A FieldError says that an object has not the members of its format. A reader
// gates on nothing that it does not understand, so an unknown member is an error.
type FieldError struct {
	At      int    // offset in bytes: of the value of an unknown member, or of the object
	Name    string // of the member; an unknown one is cut
	Missing bool   // else it is unknown
}

// Error implements error.
func (e *FieldError) Error() string {
	if e.Missing {
		return fmt.Sprintf("the member %s is missing", e.Name)
	}
	return fmt.Sprintf("the format has no member %q here: it is a mistake, or the file was written by a newer version", e.Name)
}

// Fields reads an object that has the given members and no others, in any order.
// The error is that of reading a value, a [*FieldError], or a [*Refusal].
func (r *Reader) Fields(members ...Field) error {
	start := r.Offset()
	seen := uint64(0)
	err := r.Object(func(key []byte) error {
		for i := range members {
			if members[i].Name == string(key) { // one that is there twice is refused by Object
				seen |= 1 << i
				return members[i].Read()
			}
		}
		return &FieldError{At: r.Offset(), Name: string(key[:min(len(key), 60)])}
	})
	if err != nil {
		return err
	}
	for i := range members {
		if seen&(1<<i) == 0 && !members[i].Optional {
			return &FieldError{At: start, Name: members[i].Name, Missing: true}
		}
	}
	return nil
}
