package routefilter_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/resolve/routefilter"
)

func resolve(t *testing.T, spec string, grpc bool) (r routefilter.Resolved, message string) {
	t.Helper()
	objects := resolvetest.Objects(t, "apiVersion: gatewright.dev/v1alpha1\nkind: HTTPRouteFilter\n"+
		"metadata: {namespace: app, name: f}\nspec: "+
		spec+"\n---\nkind: ConfigMap\nmetadata: {namespace: app, name: page}\ndata: {response.body: closed}\n"+
		"---\nkind: ConfigMap\nmetadata: {namespace: app, name: empty}\ndata: {other: closed}\n"+
		"---\nkind: Secret\nmetadata: {namespace: app, name: token}\ndata: {credential: QmVhcmVyIHQK}\n"+
		"---\nkind: Secret\nmetadata: {namespace: other, name: token}\ndata: {credential: QmVhcmVyIHQK}\n"+
		"---\nkind: Secret\nmetadata: {namespace: app, name: lines}\ndata: {credential: YQpi}\n"+
		"---\nkind: Secret\nmetadata: {namespace: app, name: blank}\ndata: {credential: Cg==}\n")
	r, problem, message := routefilter.Resolve(routefilter.Inputs{Objects: objects, Namespace: "app", GRPC: grpc}, "f")
	if problem != nil {
		return r, problem.Message
	}
	return r, message
}

func TestResolveRejects(t *testing.T) {
	t.Parallel()
	regex := func(pattern, substitution string) string {
		return "{urlRewrite: {path: {type: ReplaceRegexMatch, replaceRegexMatch: {pattern: '" + pattern +
			"', substitution: '" + substitution + "'}}}}"
	}
	host := func(substitution string) string {
		return "{urlRewrite: {hostname: {type: PathRegex, pathRegex: {pattern: '^/(.+)', substitution: '" + substitution + "'}}}}"
	}
	token := func(fields string) string { return "{credentialInjection: {" + fields + "}}" }
	for _, c := range []struct {
		name, spec string
		grpc       bool
		want       string
	}{
		{"a group that the pattern does not have", regex("^/(a)", `/\2`), false, `\2 is not a group of the pattern, which has 1`},
		{"a backslash before a letter", regex("^/(a)", `/\n`), false, "is not the number of a group"},
		{"a backslash at the end", regex("^/(a)", `/a\`), false, "is not the number of a group"},
		{"a space in a path", regex("^/(a)", `/a b`), false, "write it as %XX"},
		{"a query in a path", regex("^/(a)", `/a?b`), false, "do not belong to a path"},
		{"an expression that RE2 does not read", regex("(?=a)", "/"), false, "urlRewrite.path.replaceRegexMatch.pattern"},
		{"a host with a slash", host(`\1/a`), false, "no hostname has"},
		{"the environment of the proxy", "{requestHeaderModifier: {set: [{name: a, value: '%ENVIRONMENT(A)%'}]}}", false, "%ENVIRONMENT(A)%"},
		{"a line break in a header", "{responseHeaderModifier: {add: [{name: a, value: \"a\\nb\"}]}}", false, "line break"},
		{"a header of the proxies", "{requestHeaderModifier: {remove: [x-gatewright-hops]}}", false, "detect loops"},
		{"the host as a header", "{requestHeaderModifier: {set: [{name: host, value: a}]}}", false, "URLRewrite"},
		{"a cookie that has no name", "{matches: [{cookies: [{name: 'a b', value: c}]}]}", false, "matches[0].cookies[0]: cookie"},
		{
			"a cookie with a wrong expression", "{matches: [{cookies: [{name: a, type: RegularExpression, value: '('}]}]}", false,
			"matches[0].cookies[0]",
		},
		{"a cookie of an unknown type", "{matches: [{cookies: [{name: a, type: Glob, value: b}]}]}", false, `cookies[0].type "Glob" is not known`},
		{"a match without cookies", "{matches: [{}]}", false, "matches[0] has no cookies"},
		{"success for gRPC", "{directResponse: {}}", true, "such as 403"},
		{"a status that is no final one", "{directResponse: {statusCode: 100}}", false, "from 200 to 599"},
		{"a body that is too large", "{directResponse: {body: {inline: " + strings.Repeat("a", 32<<10+1) + "}}}", false, "more than 32768 bytes"},
		{
			"a ConfigMap that does not exist", "{directResponse: {body: {type: ValueRef, valueRef: {group: '', kind: ConfigMap, name: none}}}}",
			false, "does not exist",
		},
		{
			"a ConfigMap without the key", "{directResponse: {body: {type: ValueRef, valueRef: {group: '', kind: ConfigMap, name: empty}}}}",
			false, "has no key response.body",
		},
		{
			"a Secret as a body", "{directResponse: {body: {type: ValueRef, valueRef: {group: '', kind: Secret, name: page}}}}", false,
			"refer to a ConfigMap",
		},
		{"a credential that does not exist", token("credential: {valueRef: {name: none}}"), false, "there is no Secret app/none"},
		{"a credential of another namespace", token("credential: {valueRef: {name: token, namespace: other}}"), false, "ReferenceGrant"},
		{"a credential with a line break", token("credential: {valueRef: {name: lines}}"), false, "line break"},
		{"an empty credential", token("credential: {valueRef: {name: blank}}"), false, "has no text"},
		{"a credential as host", token("header: Host, credential: {valueRef: {name: token}}"), false, "URLRewrite"},
		{"a header to remove", "{directResponse: {header: {remove: [a]}}}", false, "use set and add"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, message := resolve(t, c.spec, c.grpc)
			if !strings.Contains(message, c.want) || !strings.Contains(message, "HTTPRouteFilter app/f") {
				t.Errorf("got %q, want %q", message, c.want)
			}
		})
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	t.Run("a body of a ConfigMap, and headers with variables", func(t *testing.T) {
		t.Parallel()
		r, message := resolve(t, "{directResponse: {statusCode: 503, contentType: text/html, body: {type: ValueRef, valueRef: "+
			"{group: '', kind: ConfigMap, name: page}}, header: {set: [{name: a, value: '%PROTOCOL% 5%'}]}}}", false)
		if message != "" {
			t.Fatal(message)
		}
		if r.Respond.Body != "closed" || r.Respond.StatusCode != http.StatusServiceUnavailable || r.Respond.ContentType != "text/html" {
			t.Errorf("%+v", r.Respond)
		}
		if got := r.ResponseHeaders.Formats.Set[0].Value; got != "%PROTOCOL% 5%%" {
			t.Errorf("header %q", got)
		}
	})
	t.Run("a status that gRPC knows", func(t *testing.T) {
		t.Parallel()
		if r, message := resolve(t, "{directResponse: {statusCode: 403}}", true); message != "" || r.Respond.StatusCode != http.StatusForbidden {
			t.Errorf("%+v, %s", r.Respond, message)
		}
	})
	t.Run("the host of a header, unknown to the backend", func(t *testing.T) {
		t.Parallel()
		r, message := resolve(t, "{urlRewrite: {hostname: {type: Header, header: x-host}, appendXForwardedHost: false}}", false)
		if message != "" || r.Rewrite.Host.Header != "x-host" || !r.Rewrite.Host.Hidden {
			t.Errorf("%+v, %s", r.Rewrite, message)
		}
	})
	t.Run("a credential", func(t *testing.T) {
		t.Parallel()
		r, message := resolve(t, "{credentialInjection: {header: X-Key, credential: {valueRef: {name: token}}}}", false)
		if want := (ir.InjectedCredential{Secret: "app/token", Header: "x-key"}); message != "" || *r.Credential != want {
			t.Errorf("%+v, %s", r.Credential, message)
		}
	})
	t.Run("one that does not exist", func(t *testing.T) {
		t.Parallel()
		_, problem, _ := routefilter.Resolve(routefilter.Inputs{Objects: resolvetest.Objects(t, ""), Namespace: "app"}, "none")
		if problem == nil || problem.Reason != routefilter.ReasonFilterNotFound {
			t.Errorf("%+v", problem)
		}
	})
}
