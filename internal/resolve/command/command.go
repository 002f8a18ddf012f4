package command

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
)

// shape is how Envoy reads a command: a name, perhaps with something in brackets and a length.
var shape = regexp.MustCompile(`^%([A-Z0-9_]+)(\([^)]*\))?(:[1-9][0-9]{0,4})?%`)

// arguments are the expressions of [ir.LogCommands].
var arguments = func() map[string]*regexp.Regexp {
	compiled := map[string]*regexp.Regexp{}
	for name, command := range ir.LogCommands {
		if command.Argument != "" {
			compiled[name] = regexp.MustCompile("^(?:" + command.Argument + ")$")
		}
	}
	return compiled
}()

// Check finds what Envoy would refuse in a format. It returns a message that begins with the field, or nothing.
func Check(field, format string) string {
	for {
		at := strings.IndexByte(format, '%')
		if at < 0 {
			return ""
		}
		format = format[at:]
		if strings.HasPrefix(format, "%%") {
			format = format[2:]
			continue
		}
		parts := shape.FindStringSubmatch(format)
		if parts == nil {
			return fmt.Sprintf("%s: %q is not complete; write a command as %%RESPONSE_CODE%% or %%REQ(name)%%, and a per cent sign as %%%%",
				field, beginning(format))
		}
		if !served(parts[1], parts[2], parts[3]) {
			return fmt.Sprintf("%s: %q is not served; see the list in docs/proxyconfig.md", field, parts[0])
		}
		format = format[len(parts[0]):]
	}
}

// begun is how a command begins. A per cent sign before anything else is a per cent sign, as in a style sheet.
var begun = regexp.MustCompile(`^%[A-Z][A-Z0-9_]+[(%:]`)

// Format makes a format of Envoy of a text that may have commands: what is no command stays as it is.
func Format(field, text string) (format, message string) {
	var b strings.Builder
	for {
		at := strings.IndexByte(text, '%')
		if at < 0 {
			b.WriteString(text)
			return b.String(), ""
		}
		b.WriteString(text[:at])
		text = text[at:]
		parts := shape.FindStringSubmatch(text)
		switch {
		case strings.HasPrefix(text, "%%"):
			b.WriteString("%%")
			text = text[2:]
		case len(parts) > 0 && served(parts[1], parts[2], parts[3]):
			b.WriteString(parts[0])
			text = text[len(parts[0]):]
		case begun.MatchString(text):
			return "", fmt.Sprintf("%s: %q is not a variable that is served; see the list in docs/proxyconfig.md, or write a per cent sign as %%%%",
				field, beginning(text))
		default:
			b.WriteString("%%")
			text = text[1:]
		}
	}
}

// served tells whether Envoy accepts a command with what is in its brackets, which are there too, and with a length behind a colon.
func served(name, brackets, length string) bool {
	command, known := ir.LogCommands[name]
	if !known || length != "" && !command.Length {
		return false
	}
	if brackets == "" {
		return !command.Needed
	}
	argument := arguments[name]
	return argument != nil && argument.MatchString(brackets[1:len(brackets)-1])
}

// beginning is as much of a wrong format as a message needs.
func beginning(format string) string {
	const most = 40
	if end := strings.IndexByte(format[1:], '%'); end >= 0 && end < most {
		return format[:end+2]
	}
	return format[:min(len(format), most)]
}
