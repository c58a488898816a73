// Package plugin has what converters and adapters share, besides reading.
package plugin

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	core "leadhost/sdk/internal/generated/leadhost_types_core"
	wit "leadhost/sdk/internal/generated/wit/types"
	"leadhost/sdk/internal/reading"
)

// A call has 128 MiB for everything. Near the limit the collector runs more often, instead of
// at every doubling of the heap.
func init() {
	debug.SetMemoryLimit(80 << 20)
}

// notes are the lines for the delivery so far.
var notes []string

// More lines than a person reads.
const maxNotes = 200

// Note adds a line to the notes of the delivery, unless there are two hundred.
func Note(line string) {
	if len(notes) < maxNotes {
		notes = append(notes, Clean(line))
	}
}

// TakeNotes returns the notes so far, and forgets them.
func TakeNotes() []string {
	taken := notes
	notes = nil
	return taken
}

// Log writes the values to the standard error, which is kept with the delivery.
func Log(values ...any) {
	fmt.Fprintln(os.Stderr, values...)
}

// Result returns a value as the result of an exported function, or the problem that it returned. Any
// other error is a crash: the sender's body is not at fault.
func Result[T any](value T, err error) wit.Result[T, core.Problem] {
	var problem reading.Problem
	if errors.As(err, &problem) {
		return wit.Err[T](core.Problem{Message: problem.Message, Path: problem.Path})
	}
	if err != nil {
		panic(fmt.Errorf("a function returned an error that is no Problem: %w", err))
	}
	return wit.Ok[T, core.Problem](value)
}

// Option returns a value, or none.
func Option[T any](value *T) wit.Option[T] {
	if value == nil {
		return wit.None[T]()
	}
	return wit.Some(*value)
}

// OptionalText returns the text of Clean, or none if it is blank.
func OptionalText(text string) wit.Option[string] {
	if text = Clean(text); text == "" {
		return wit.None[string]()
	}
	return wit.Some(text)
}

// Clean returns the trimmed text. A character that a slice of the text has cut becomes U+FFFD: what is not
// UTF-8 cannot leave the component.
func Clean(text string) string {
	return strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
}

// Seconds returns a time to wait, or none if it is 0.
func Seconds(seconds uint32) wit.Option[uint32] {
	if seconds == 0 {
		return wit.None[uint32]()
	}
	return wit.Some(seconds)
}

// Handshake returns the answer to a handshake as the result of the exported function.
func Handshake(answer *core.HandshakeAnswer, err error) wit.Result[wit.Option[core.HandshakeAnswer], core.Problem] {
	return Result(Option(answer), err)
}
