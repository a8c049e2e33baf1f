package decide_test

import (
	"fmt"
	"maps"

	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/resource"
)

// scheduler puts pods on nodes in whatever order and on whatever node a test
// draws, as long as they fit: the worst that kube-scheduler could do.
type scheduler struct {
	free    map[string]resource.List
	zone    map[string]string
	order   []string
	pending []pendingPod
}

type pendingPod struct {
	place    demand.Place
	requests resource.List
	stranger bool // may find no node
}

func newScheduler(c *cluster) *scheduler {
	s := &scheduler{free: map[string]resource.List{}, zone: map[string]string{}}
	for _, n := range c.nodes {
		if n.Ready {
			s.free[n.Name], s.zone[n.Name] = maps.Clone(n.Allocatable), n.Labels["zone"]
			s.order = append(s.order, n.Name)
		}
	}
	for _, p := range c.pods {
		if p.Node == "" {
			s.pending = append(s.pending, pendingPod{p.Place, p.Requests, true})
		} else if free := s.free[p.Node]; free != nil {
			free.AddTo(p.Requests, -1)
		}
	}
	return s
}

func (s *scheduler) queue(place demand.Place, requests resource.List, pods int64) {
	for range pods {
		s.pending = append(s.pending, pendingPod{place: place, requests: requests})
	}
}

func (s *scheduler) fits(p pendingPod) []string {
	var nodes []string
	for _, name := range s.order {
		ok := true
		if want, set := p.place.NodeSelector["zone"]; set && want != s.zone[name] {
			ok = false
		}
		if p.place.Affinity != nil && s.zone[name] != "west" { // the only affinity that is drawn
			ok = false
		}
		for r, n := range p.requests {
			ok = ok && s.free[name][r] >= n
		}
		if ok {
			nodes = append(nodes, name)
		}
	}
	return nodes
}

func (s *scheduler) placeAll(t *rapid.T) {
	for len(s.pending) > 0 {
		i := rapid.IntRange(0, len(s.pending)-1).Draw(t, "next pod")
		p := s.pending[i]
		s.pending = append(s.pending[:i], s.pending[i+1:]...)
		nodes := s.fits(p)
		if len(nodes) == 0 {
			if p.stranger {
				continue
			}
			t.Fatalf("a pod that was let go finds no node: %s on %v", fmt.Sprint(p), s.free)
		}
		node := rapid.SampledFrom(nodes).Draw(t, "lands on")
		for r, n := range p.requests {
			s.free[node][r] -= n
		}
	}
}
