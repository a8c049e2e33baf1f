package binaries

import "path/filepath"

// Set is where the programs of the plane are.
type Set struct {
	Etcd              string
	APIServer         string
	ControllerManager string
	Scheduler         string
	Kubectl           string
	Helm              string
}

// component is one nested module and what is built from it.
type component struct {
	name     string   // its directory below test/plane/build
	packages []string // main packages, each built into a file of its base name
	programs []string
	ldflags  string
	// patience tells a person how long a build from nothing takes, and about
	// how many packages it compiles.
	patience string
	about    int
}

// KubernetesVersion is what clients see; without it the server calls itself
// v0.0.0-master, and clients that parse versions break.
const (
	KubernetesVersion = "v1.37.2"
	kubernetesMajor   = "1"
	kubernetesMinor   = "37"
)

func components() []component {
	version := "k8s.io/component-base/version."
	return []component{
		{
			name:     "etcd",
			packages: []string{"."},
			programs: []string{"etcd"},
			ldflags:  "-s -w",
			patience: "a first build takes 1 to 2 minutes",
			about:    600,
		},
		{
			name: "kubernetes",
			packages: []string{
				"k8s.io/kubernetes/cmd/kube-apiserver",
				"k8s.io/kubernetes/cmd/kube-controller-manager",
				"k8s.io/kubernetes/cmd/kube-scheduler",
				"k8s.io/kubernetes/cmd/kubectl",
			},
			programs: []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"},
			ldflags: "-s -w -X " + version + "gitVersion=" + KubernetesVersion +
				" -X " + version + "gitMajor=" + kubernetesMajor +
				" -X " + version + "gitMinor=" + kubernetesMinor,
			patience: "a first build takes 5 to 10 minutes on 2 cores",
			about:    2600,
		},
		{
			name:     "helm",
			packages: []string{"helm.sh/helm/v4/cmd/helm"},
			programs: []string{"helm"},
			ldflags:  "-s -w",
			patience: "a first build takes 1 to 2 minutes",
			about:    1200,
		},
	}
}

// Kueue is what is measured against.
type Kueue struct {
	Program string
	Source  string // its module's directory, with chart and CRDs
}

// KueueVersion is the one that test/plane/build/kueue requires.
const (
	KueueVersion = "v0.19.2"
	kueueModule  = "sigs.k8s.io/kueue"
)

func kueueComponent() component {
	return component{
		name:     "kueue",
		packages: []string{kueueModule + "/cmd/kueue"},
		programs: []string{"kueue"},
		ldflags:  "-s -w -X " + kueueModule + "/pkg/version.GitVersion=" + KueueVersion,
		patience: "a first build takes 5 to 10 minutes on 2 cores",
		about:    2000,
	}
}

// setOf names the programs, given the directory of each component.
func setOf(dirs map[string]string) *Set {
	kubernetes := dirs["kubernetes"]
	return &Set{
		Etcd:              filepath.Join(dirs["etcd"], "etcd"),
		APIServer:         filepath.Join(kubernetes, "kube-apiserver"),
		ControllerManager: filepath.Join(kubernetes, "kube-controller-manager"),
		Scheduler:         filepath.Join(kubernetes, "kube-scheduler"),
		Kubectl:           filepath.Join(kubernetes, "kubectl"),
		Helm:              filepath.Join(dirs["helm"], "helm"),
	}
}
