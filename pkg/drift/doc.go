// Package drift compares two surfaces of one server and gives each difference a
// code and a grade.
//
// A [Side] is what is known of one surface: a lockfile entry with its readable
// copies, or a live listing. Whether two items differ is decided by their digests
// alone (by the three hashes of the original lockfile format where a side has no
// digest); what differs is then told from their texts, as [Aspect] values. Two
// items that differ always have an aspect, and no aspect is graded below info.
//
// # Grades
//
// Critical: a parameter removed, retyped or newly required; an annotation hint
// loosened; a reference to another document; a source changed; coverage reduced; a change that is too large to be
// graded. Info: title and icons. All else is a warning.
//
// Aspects are an aid for who reads a change. All of it is in its readable copies,
// [Change.Copies].
package drift
