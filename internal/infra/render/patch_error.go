package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// longestPatchError is how much is told of what Kubernetes' code says about a patch: it may repeat the object.
const longestPatchError = 300

// errUnreadable is for what Kubernetes' code panics at.
var errUnreadable = errors.New("a list or a value in it has another type than the object's field")

// printedMap is a map as Go prints it, which repeats a part of the object. The type of a field, such as map[string]string, is none.
var printedMap = regexp.MustCompile(`map\[[^\]]*:`)

// unfit says that a patch does not fit the object, and why, without what only programmers read.
func unfit(field string, err error) error {
	const next = "compare it with the object's fields in the reference of the Kubernetes API"
	text := strings.TrimPrefix(err.Error(), "json: ")
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		text = fmt.Sprintf("%s cannot be a JSON %s", wrong.Field, wrong.Value)
	}
	if strings.Contains(text, "%!") || printedMap.MatchString(text) {
		text = errUnreadable.Error()
	}
	if len(text) > longestPatchError {
		end := longestPatchError
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + "…"
	}
	return fmt.Errorf("%s cannot be applied: %s; %s", field, text, next)
}
