package route

import (
	"fmt"
	"strings"
)

// checkPath says what is wrong with a path that is put into a request or an answer.
func checkPath(field, path string) string {
	if strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return fmt.Sprintf("%s %q has a space or a control character; write it as %%XX", field, path)
	}
	return ""
}
