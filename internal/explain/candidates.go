package explain

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
)

// maxCandidates is how many rules are listed that do not get a request.
const maxCandidates = 10

// losers lists the rules that match too, and come behind the one that gets the request.
func (x *exchange) losers(c choice) {
	behind := false
	for i := range c.host.Rules {
		rule := &c.host.Rules[i]
		if rule == c.rule {
			behind = true
			continue
		}
		if behind && !rule.Match.Preflight && rule.Name != c.rule.Name && len(x.misses(&rule.Match)) == 0 {
			x.addCandidate(Candidate{Rule: rule.Name, Match: describe(&rule.Match), By: c.rule.Name})
		}
	}
}

func (x *exchange) addCandidate(c Candidate) {
	if len(x.out.Candidates) == maxCandidates {
		x.out.Omitted++
		return
	}
	x.out.Candidates = append(x.out.Candidates, c)
}

// noHost is for a request whose host no route serves.
func (x *exchange) noHost() {
	host := x.hostname()
	x.listUnserved(host)
	x.fail(http.StatusNotFound, Hop{Name: hopHost, Value: host, Detail: x.noRoute()}, x.hostFix(host))
}

func (x *exchange) noRoute() string {
	return fmt.Sprintf("no route is attached for host %s at %s", x.hostname(), x.where())
}

// where names the listener for a request.
func (x *exchange) where() string {
	if x.request.TLS {
		return fmt.Sprintf("listener %s of Gateway %s", x.chain.Name, x.gateway.Name)
	}
	return fmt.Sprintf("port %d of Gateway %s", x.port.Number, x.gateway.Name)
}

// hostFix says what to do about a host that is not served: correct a route that names it, or use a hostname that looks alike.
func (x *exchange) hostFix(host string) string {
	if len(x.out.Unserved) > 0 {
		return fmt.Sprintf("correct %s, which names the host", x.out.Unserved[0].Object)
	}
	if near := x.similarHost(host); near != "" {
		return fmt.Sprintf("did you mean %s? Otherwise attach a route with hostname %s", near, host)
	}
	return fmt.Sprintf("attach a route with hostname %s to Gateway %s", host, x.gateway.Name)
}

// similarHost is the served hostname that differs in the fewest characters, empty if all differ in many.
func (x *exchange) similarHost(host string) string {
	best, least := "", 3
	for id := range x.config.Hosts {
		if id.Table != x.chain.RouteTable || isWildcard(id.Domain) {
			continue
		}
		if d := distance(id.Domain, host, least); d < least || d == least && best != "" && id.Domain < best {
			best, least = id.Domain, d
		}
	}
	return best
}

// distance is in how many characters two texts differ, or limit if that is more.
func distance(a, b string, limit int) int {
	if max(len(a)-len(b), len(b)-len(a)) >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return min(row[len(b)], limit)
}

// listUnserved lists the routes that name a host and have a problem.
func (x *exchange) listUnserved(host string) {
	for _, r := range x.config.Routes {
		names := slices.ContainsFunc(r.Hostnames, func(name string) bool { return covers(name, host) })
		if names && len(r.Problems) > 0 && !r.Attached {
			x.out.Unserved = append(x.out.Unserved, Unserved{Object: describeObject(r.Object), Problems: r.Problems})
		}
	}
}

// listProblems lists what is wrong with the route of a rule.
func (x *exchange) listProblems(rule *ir.Rule) {
	for _, r := range x.config.Routes {
		if len(r.Problems) > 0 && strings.HasPrefix(rule.Name, r.Object.String()+"/") {
			x.out.Unserved = append(x.out.Unserved, Unserved{Object: describeObject(r.Object), Problems: r.Problems})
		}
	}
}

func describeObject(o ir.ObjectRef) string { return o.Kind + " " + o.Name.String() }

// noRule is for a request that no rule of its host matches.
func (x *exchange) noRule(host *ir.VirtualHost) {
	x.listUnserved(x.hostname())
	all := x.missed(host)
	if wild := x.wildcardHost(); wild != nil && host.FallsThrough && wild != host {
		all = append(all, x.missed(wild)...)
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(a.score, b.score) })
	for _, s := range all {
		x.addCandidate(s.Candidate)
	}
	hop := Hop{Name: hopRule, Value: x.request.Method + " " + x.path}
	if len(all) == 0 {
		hop.Detail = x.noRoute()
		x.fail(http.StatusNotFound, hop, x.hostFix(x.hostname()))
		return
	}
	hop.Detail = fmt.Sprintf("none of the %d matches of host %s fits the request", len(all), host.Domain)
	x.fail(http.StatusNotFound, hop, ruleFix(all[0].Candidate))
}

// scored is a candidate with how far it is from matching.
type scored struct {
	Candidate
	score int
}

// missed are the rules of a host, each with what does not match. Rules for preflights are not listed.
func (x *exchange) missed(host *ir.VirtualHost) []scored {
	var all []scored
	for i := range host.Rules {
		rule := &host.Rules[i]
		if rule.Match.Preflight {
			continue
		}
		misses := x.misses(&rule.Match)
		all = append(all, scored{
			Candidate: Candidate{Rule: rule.Name, Match: describe(&rule.Match), Misses: misses}, score: x.score(&rule.Match, misses),
		})
	}
	return all
}

// score is how far a rule is from matching. A path that does not match counts most, the less so the more segments fit.
func (x *exchange) score(m *ir.Match, misses []Miss) int {
	const path, segment = 1000, 10
	score := len(misses)
	if len(misses) > 0 && misses[0].Part == partPath {
		score += path - segment*min(sameSegments(m.Path.Value, x.path), path/segment-1)
	}
	return score
}

// sameSegments is how many segments two paths have in common at their beginning.
func sameSegments(a, b string) int {
	as, bs := strings.Split(a, "/"), strings.Split(b, "/")
	n := 0
	for n < min(len(as), len(bs)) && as[n] == bs[n] {
		n++
	}
	return n
}

// ruleFix says how the nearest rule would match.
func ruleFix(nearest Candidate) string {
	parts := make([]string, len(nearest.Misses))
	for i, m := range nearest.Misses {
		parts[i] = fmt.Sprintf("%s %s", strings.TrimSpace(m.Part+" "+m.Name), m.Want)
	}
	return fmt.Sprintf("change %s, which wants %s, or add a rule", DescribeRule(nearest.Rule), strings.Join(parts, " and "))
}
