package wire

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of a frame.
const (
	MaxDepth  = 16   // of objects and arrays within each other
	MaxNumber = 64   // bytes of one number
	MaxID     = 64   // characters of a message's id
	MaxFixes  = 1000 // in one report
)

var (
	errTooDeep    = errors.New("nested too deeply")
	errLongNumber = errors.New("a number with too many digits")
	errNotObject  = errors.New("not an object")
)

// scanner reads one JSON object token by token. Duplicate names and invalid
// UTF-8 are refused by jsontext. The first error sticks.
type scanner struct {
	dec jsontext.Decoder
	buf bytes.Buffer
	err error
}

var scanners = sync.Pool{New: func() any { return new(scanner) }}

func scan(b []byte) *scanner {
	s := scanners.Get().(*scanner)
	s.buf = *bytes.NewBuffer(b)
	s.dec.Reset(&s.buf)
	s.err = nil
	return s
}

// done gives the scanner back, without the bytes that it read from.
func (s *scanner) done() {
	s.buf = bytes.Buffer{}
	s.dec.Reset(&s.buf)
	scanners.Put(s)
}

func (s *scanner) fail(err error) {
	if s.err == nil && err != nil {
		s.err = err
	}
}

// open enters an object or array; false if the next value is something else,
// which is then left where it is.
func (s *scanner) open(kind jsontext.Kind) bool {
	if s.err != nil || s.dec.PeekKind() != kind {
		return false
	}
	_, err := s.dec.ReadToken()
	s.fail(err)
	if s.dec.StackDepth() > MaxDepth {
		s.fail(errTooDeep)
	}
	return s.err == nil
}

// more reports whether the object or array has another member, and leaves it
// when it has none.
func (s *scanner) more() bool {
	if s.err != nil {
		return false
	}
	switch s.dec.PeekKind() {
	case '}', ']':
		_, err := s.dec.ReadToken()
		s.fail(err)
		return false
	}
	return true
}

// name reads the name of the next member. It is valid until the next read.
func (s *scanner) name() []byte {
	v, err := s.dec.ReadValue()
	if err != nil {
		s.fail(err)
		return nil
	}
	return unquote(v)
}

// unquote returns the contents of a valid JSON string, copied only if it has
// escapes.
func unquote(v []byte) []byte {
	in := v[1 : len(v)-1]
	if bytes.IndexByte(in, '\\') < 0 {
		return in
	}
	out, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return nil
	}
	return out
}

// skip passes over the next value, however deep it is within the bounds.
func (s *scanner) skip() {
	if s.err != nil {
		return
	}
	base := s.dec.StackDepth()
	for {
		if k := s.dec.PeekKind(); k == '0' {
			s.number()
		} else if _, err := s.dec.ReadToken(); err != nil {
			s.fail(err)
		}
		if s.err != nil {
			return
		}
		switch depth := s.dec.StackDepth(); {
		case depth > MaxDepth:
			s.fail(errTooDeep)
			return
		case depth == base:
			return
		}
	}
}

// null passes over a null and reports whether there was one.
func (s *scanner) null() bool {
	if s.err != nil || s.dec.PeekKind() != 'n' {
		return false
	}
	s.skip()
	return true
}

// text reads a string; false if the value is something else, which it skips.
func (s *scanner) text() ([]byte, bool) {
	if s.err != nil {
		return nil, false
	}
	if s.dec.PeekKind() != '"' {
		s.skip()
		return nil, false
	}
	v, err := s.dec.ReadValue()
	if err != nil {
		s.fail(err)
		return nil, false
	}
	return unquote(v), true
}

func (s *scanner) number() ([]byte, bool) {
	if s.err != nil {
		return nil, false
	}
	if s.dec.PeekKind() != '0' {
		s.skip()
		return nil, false
	}
	v, err := s.dec.ReadValue()
	if err == nil && len(v) > MaxNumber {
		err = errLongNumber
	}
	s.fail(err)
	return v, s.err == nil
}

// float reads a number, ±Inf if it is beyond float64; false if the value is
// something else.
func (s *scanner) float() (float64, bool) {
	v, ok := s.number()
	if !ok {
		return 0, false
	}
	f, _ := strconv.ParseFloat(string(v), 64) // valid JSON numbers fail only by range
	return f, true
}

// whole reads an integer from 0 to MaxSeq, however it is written (5, 5.0, 5e0).
func (s *scanner) whole() (uint64, bool) {
	v, ok := s.number()
	if !ok {
		return 0, false
	}
	if n, ok := digits(v); ok {
		return n, n <= MaxSeq
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || f < 0 || f > MaxSeq || f != math.Trunc(f) {
		return 0, false
	}
	return uint64(f), true
}

// digits parses up to 16 decimal digits, more than MaxSeq needs.
func digits(v []byte) (n uint64, ok bool) {
	if len(v) > 16 {
		return 0, false
	}
	for _, c := range v {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return n, true
}

func (s *scanner) bool() (v, ok bool) {
	if s.err != nil {
		return false, false
	}
	switch s.dec.PeekKind() {
	case 't':
		s.skip()
		return true, true
	case 'f':
		s.skip()
		return false, true
	}
	s.skip()
	return false, false
}

// end checks that nothing follows the object.
func (s *scanner) end() {
	if s.err != nil {
		return
	}
	if _, err := s.dec.ReadToken(); err != io.EOF {
		s.fail(errNotObject)
	}
}

// problem is the bad_json error of what went wrong.
func (s *scanner) problem() *Error {
	sentence := ""
	switch {
	case errors.Is(s.err, jsontext.ErrDuplicateName):
		sentence = "A name stands twice in one object."
	case errors.Is(s.err, errTooDeep):
		sentence = "Objects and arrays are nested too deeply."
	case errors.Is(s.err, errLongNumber):
		sentence = "A number has too many digits."
	case errors.Is(s.err, errNotObject):
		sentence = "Send exactly one JSON object."
	}
	return NewError(BadJSON, "", sentence)
}

func tooLongID(id []byte) bool { return len(id) > MaxID && utf8.RuneCount(id) > MaxID }
