package app

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// maxAge is for how long changes may take to be handed out before a replica is restarted. The largest site that was measured takes half a
// minute, see docs/scale.md.
const maxAge = 5 * time.Minute

func (p *replica) addHealthChecks(mgr manager.Manager) error {
	if err := mgr.AddHealthzCheck("pipeline", func(*http.Request) error { return alive(p.pipeline.Age()) }); err != nil {
		return fmt.Errorf("set up health checks: %w", err)
	}
	if err := mgr.AddReadyzCheck("synced", p.ready); err != nil {
		return fmt.Errorf("set up health checks: %w", err)
	}
	return nil
}

// alive says whether a replica still gets anything done, by the age of the oldest changes that have not been handed out.
func alive(age time.Duration) error {
	if age > maxAge {
		return fmt.Errorf("changes have not been handed out for %s; this is a bug, please report it", age.Round(time.Second))
	}
	return nil
}

// ready says whether proxies can be sent here.
func (p *replica) ready(*http.Request) error {
	missing := p.watcher.Missing()
	switch {
	case !p.synced.Load() && len(missing) > 0:
		return fmt.Errorf("the cluster does not serve %v; install the CRDs of the Gateway API", missing)
	case !p.synced.Load():
		return errors.New("not everything has been read yet")
	case p.authority.Authority() == nil:
		return errors.New("the certificate authority is not known yet")
	default:
		return nil
	}
}
