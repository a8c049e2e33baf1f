package main

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// The API server shares itself out by who asks. An administrator goes before everybody
// else; users who create Jobs do not, nor does the Job controller.
const (
	userName       = "scale-user"
	controllerName = "system:serviceaccount:kube-system:job-controller"
)

// identities are clients of those whom this program plays, with the rights they have
// in a cluster.
func identities(ctx context.Context, admin *rest.Config) (user, controller *kubernetes.Clientset, err error) {
	root, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return nil, nil, err
	}
	for name, rules := range map[string][]rbacv1.PolicyRule{
		userName: {{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"create"}}},
		controllerName: {
			{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"get", "list", "watch"}},
			{APIGroups: []string{"batch"}, Resources: []string{"jobs/status"}, Verbs: []string{"update"}},
		},
	} {
		if err := allow(ctx, root, name, rules); err != nil {
			return nil, nil, fmt.Errorf("giving %s its rights: %w", name, err)
		}
	}
	if user, err = as(admin, userName); err != nil {
		return nil, nil, err
	}
	controller, err = as(admin, controllerName, "system:serviceaccounts", "system:serviceaccounts:kube-system")
	return user, controller, err
}

func allow(ctx context.Context, root *kubernetes.Clientset, name string, rules []rbacv1.PolicyRule) error {
	meta := metav1.ObjectMeta{Name: "scale:" + name, Namespace: namespace}
	if _, err := root.RbacV1().Roles(namespace).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err := root.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	}, metav1.CreateOptions{})
	return err
}

// as is a client that speaks for somebody else.
func as(admin *rest.Config, name string, groups ...string) (*kubernetes.Clientset, error) {
	config := rest.CopyConfig(admin)
	config.ContentType, config.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf"
	config.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: append(groups, "system:authenticated")}
	return kubernetes.NewForConfig(config)
}
