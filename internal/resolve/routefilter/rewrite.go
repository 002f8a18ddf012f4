package routefilter

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/expression"
	"github.com/gatewright/gatewright/internal/resolve/header"
)

// rewrite reads what the backend sees. Of what cannot be served it returns a message.
func (in Inputs) rewrite(spec *v1alpha1.URLRewrite) (*ir.Rewrite, string) {
	if spec == nil {
		return nil, ""
	}
	rewrite := &ir.Rewrite{}
	if spec.Path != nil {
		edit, message := in.regexEdit("urlRewrite.path.replaceRegexMatch", spec.Path.ReplaceRegexMatch, checkPathText)
		if message != "" {
			return nil, message
		}
		rewrite.Path = &ir.PathEdit{Regex: edit}
	}
	host, message := in.host(spec.Hostname)
	if message != "" {
		return nil, message
	}
	if !ptr.Deref(spec.AppendXForwardedHost, true) {
		if host == nil {
			host = &ir.HostRewrite{}
		}
		host.Hidden = true
	}
	rewrite.Host = host
	return rewrite, ""
}

func (in Inputs) host(spec *v1alpha1.HostnameModifier) (*ir.HostRewrite, string) {
	switch {
	case spec == nil:
		return nil, ""
	case spec.Type == v1alpha1.HostnameFromHeader && spec.Header != nil:
		name := string(*spec.Header)
		return &ir.HostRewrite{Header: name}, header.CheckName("urlRewrite.hostname.header", name)
	case spec.Type == v1alpha1.HostnameFromBackend:
		return &ir.HostRewrite{Backend: true}, ""
	case spec.Type == v1alpha1.HostnameFromPath && spec.PathRegex != nil:
		edit, message := in.regexEdit("urlRewrite.hostname.pathRegex", spec.PathRegex, checkHostText)
		return &ir.HostRewrite{Path: edit}, message
	default:
		return nil, fmt.Sprintf("urlRewrite.hostname has type %q without what belongs to it; set header or pathRegex", spec.Type)
	}
}

// reference is a group of the pattern in a substitution, or a backslash.
var reference = regexp.MustCompile(`\\(.?)`)

// regexEdit checks a pattern and its substitution. RE2 leaves a text as it is if the substitution names a group that does not exist.
func (in Inputs) regexEdit(field string, spec *v1alpha1.RegexRewrite, check func(string) string) (*ir.RegexEdit, string) {
	if spec == nil || spec.Pattern == "" {
		return nil, field + " has no pattern; add pattern and substitution"
	}
	budget := expression.Budget{Limits: in.Objects.Limits}
	if err := budget.Take(spec.Pattern); err != nil {
		return nil, fmt.Sprintf("%s.pattern %q: %v", field, spec.Pattern, err)
	}
	compiled, err := regexp.Compile(spec.Pattern)
	if err != nil {
		return nil, fmt.Sprintf("%s.pattern %q: %v", field, spec.Pattern, err)
	}
	for _, group := range reference.FindAllStringSubmatch(spec.Substitution, -1) {
		switch name := group[1]; {
		case name == `\`:
		case len(name) != 1 || name[0] < '0' || name[0] > '9':
			return nil, fmt.Sprintf(`%s.substitution: %q is not the number of a group; write \1 to \9, and a backslash as \\`, field, group[0])
		case int(name[0]-'0') > compiled.NumSubexp():
			return nil, fmt.Sprintf("%s.substitution: %s is not a group of the pattern, which has %d; use one of them",
				field, group[0], compiled.NumSubexp())
		}
	}
	if message := check(reference.ReplaceAllString(spec.Substitution, "")); message != "" {
		return nil, fmt.Sprintf("%s.substitution %q %s", field, spec.Substitution, message)
	}
	return &ir.RegexEdit{Pattern: spec.Pattern, Substitution: spec.Substitution}, ""
}

func checkPathText(text string) string {
	switch {
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "has a space, a control character or one that is not ASCII; write it as %XX"
	case strings.ContainsAny(text, "?#"):
		return "has ? or #, which do not belong to a path; remove it"
	default:
		return ""
	}
}

func checkHostText(text string) string {
	if strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_:") != "" {
		return "has a character that no hostname has; use letters, digits, dots and hyphens"
	}
	return ""
}
