// Package canonical turns the bytes of a JSON text into canonical bytes or a
// named refusal, and hashes them.
//
// The canonical form is RFC 8785 (JSON Canonicalization Scheme) with one
// extension: an integer written in plain digits, within 64 bits (-2^63 to
// 2^64-1), stands as its own digits even where a double cannot hold it.
// Generated schemas are full of 9223372036854775807, and two such integers must
// not share a digest.
//
// # Refusals
//
// A text is refused, by a named [Rule], when two texts could share its
// canonical form or when two readers could disagree about what it says: a
// number whose canonical form is another decimal value, a repeated member, a
// lone surrogate or invalid UTF-8, bad syntax, nesting or size over the limits.
// A refused text has no canonical form and is never hashed.
//
// # Two ways in
//
// [Encoder] makes one pass over a text and appends its canonical form. [Reader]
// walks a text by pulling values out of it, under the same grammar, for file
// formats that are read and not hashed. Neither builds a tree.
package canonical
