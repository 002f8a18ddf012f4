package render

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// longestPatchError is how much is told of what Kubernetes' code says about a patch: it may repeat the object.
const longestPatchError = 300

// errUnreadable is for what Kubernetes' code panics at.
var errUnreadable = errors.New("a list or a value in it has another type than the object's field")

// unfit says that a patch does not fit the object, and why, without what only programmers read.
func unfit(field string, err error) error {
	const next = "compare it with the object's fields in the reference of the Kubernetes API"
	text := strings.TrimPrefix(err.Error(), "json: ")
	if strings.Contains(text, "%!") || strings.Contains(text, "map[") {
		text = errUnreadable.Error()
	}
	if len(text) > longestPatchError {
		end := longestPatchError
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + "…"
	}
	return fmt.Errorf("%s can not be applied: %s; %s", field, text, next)
}
