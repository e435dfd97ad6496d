package config

func gatewayTargets(root *node) []*node { return nil }

func (f *file) gateway(root *node, targets []*node) *FileError { return nil }
