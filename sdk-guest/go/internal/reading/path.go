package reading

import (
	"strconv"
	"strings"
)

// step is a part of a path.
type step struct {
	// next returns what it leads to.
	next func(*Value) []member
	// isEach is true of `[*]`.
	isEach bool
}

// key leads to a member of an object; in a list, to an index or to that member of the first element.
func key(name string) step {
	return step{next: func(v *Value) []member {
		for v.IsList() && len(v.members) > 0 {
			if at, err := strconv.ParseUint(name, 10, 31); err == nil && int(at) < len(v.members) {
				return v.members[at : at+1]
			}
			v = v.members[0].value
		}
		if !v.IsObject() {
			return nil
		}
		return []member{{value: v.member(name)}}
	}}
}

// all leads to each element of a list and each value of an object.
func all(v *Value) []member {
	if v.IsObject() {
		return v.members
	}
	return v.elements()
}

func index(at int) step {
	return step{next: func(v *Value) []member {
		elements := v.elements()
		return elements[min(at, len(elements)):min(at+1, len(elements))]
	}}
}

// where leads to the elements that have the text at the end of the steps.
func where(steps []step, text string) step {
	return step{next: func(v *Value) []member {
		var matching []member
		for _, element := range v.elements() {
			for _, found := range element.value.follow(steps) {
				if found.scalar() == text {
					matching = append(matching, element)
					break
				}
			}
		}
		return matching
	}}
}

// parsedPaths has the paths of the call, since each lead of a batch is read by the same.
var parsedPaths = map[string][]step{}

// parsePath panics if the path is malformed, since it is the plugin's own.
func parsePath(path string) []step {
	steps, isParsed := parsedPaths[path]
	if !isParsed {
		parser := &pathParser{path: path, rest: strings.TrimSpace(path)}
		steps = parser.steps()
		parsedPaths[path] = steps
	}
	return steps
}

type pathParser struct {
	path string
	rest string
}

func (p *pathParser) fail(what string) {
	panic("path `" + p.path + "`: " + what)
}

func (p *pathParser) steps() []step {
	steps := []step{p.step()}
	for p.rest != "" {
		if p.rest[0] != '[' && !p.skip(".") {
			p.fail("a dot or a bracket must follow a bracket or a quote")
		}
		steps = append(steps, p.step())
	}
	return steps
}

func (p *pathParser) step() step {
	if p.skip("[") {
		return p.bracket()
	}
	if p.skip(`"`) {
		return key(p.quoted())
	}
	end := strings.IndexAny(p.rest+".", ".[")
	name := p.rest[:end]
	p.rest = p.rest[end:]
	if name == "" {
		p.fail("a key is missing")
	}
	if name == "*" {
		return step{next: all}
	}
	return key(name)
}

// bracket reads what follows `[`.
func (p *pathParser) bracket() step {
	if p.skip("?") {
		return p.filter()
	}
	if p.skip(`"`) {
		name := p.quoted()
		p.until("]", "a bracket is not closed")
		return key(name)
	}
	text := strings.TrimSpace(p.until("]", "a bracket is not closed"))
	if text == "*" {
		return step{next: all, isEach: true}
	}
	at, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		p.fail("a bracket holds an index, *, a quoted key or a filter")
	}
	return index(int(at))
}

// filter reads what follows `[?`.
func (p *pathParser) filter() step {
	inner := &pathParser{path: p.path, rest: strings.TrimSpace(p.until("=", "a filter is written [?key=value]"))}
	// A filter in a filter would recurse.
	if strings.Contains(inner.rest, "[") {
		p.fail("a filter takes keys only")
	}
	steps := inner.steps()
	if p.skip(`"`) {
		wanted := p.quoted()
		p.until("]", "a bracket is not closed")
		return where(steps, wanted)
	}
	return where(steps, strings.TrimSpace(p.until("]", "a bracket is not closed")))
}

// quoted reads what follows a quote, to the next one.
func (p *pathParser) quoted() string {
	var out []byte
	for at := 0; at < len(p.rest); at++ {
		if p.rest[at] == '"' {
			p.rest = p.rest[at+1:]
			return string(out)
		}
		if p.rest[at] == '\\' && at+1 < len(p.rest) {
			at++
		}
		out = append(out, p.rest[at])
	}
	p.fail("a quote is not closed")
	return ""
}

// until returns what is before the end, and passes both.
func (p *pathParser) until(end, wrong string) string {
	text, rest, found := strings.Cut(p.rest, end)
	if !found {
		p.fail(wrong)
	}
	p.rest = rest
	return text
}

func (p *pathParser) skip(prefix string) bool {
	rest, found := strings.CutPrefix(p.rest, prefix)
	p.rest = rest
	return found
}
