package report

import "agentgateway-lock/pkg/finding"

// The objects of SARIF 2.1.0 that are written, with the sections that define
// them.

// sarifLog is section 3.13.
type sarifLog struct {
	Version string     `json:"version"`
	Schema  string     `json:"$schema"`
	Runs    []sarifRun `json:"runs"`
}

// sarifRun is section 3.14.
type sarifRun struct {
	Tool              sarifTool         `json:"tool"`
	AutomationDetails sarifAutomation   `json:"automationDetails"`
	Invocations       []sarifInvocation `json:"invocations"`
	Results           []sarifResult     `json:"results"`
}

// sarifTool is section 3.18.
type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

// sarifDriver is a toolComponent, section 3.19.
type sarifDriver struct {
	Name           string      `json:"name"`
	Version        string      `json:"version,omitempty"`
	InformationURI string      `json:"informationUri,omitempty"`
	Rules          []sarifRule `json:"rules"`
}

// sarifRule is a reportingDescriptor, section 3.49.
type sarifRule struct {
	ID                   string             `json:"id"`
	HelpURI              string             `json:"helpUri,omitempty"`
	ShortDescription     sarifText          `json:"shortDescription"`
	FullDescription      sarifText          `json:"fullDescription"`
	Help                 sarifText          `json:"help"`
	DefaultConfiguration sarifConfiguration `json:"defaultConfiguration"`
}

// sarifConfiguration is a reportingConfiguration, section 3.50.
type sarifConfiguration struct {
	Level string `json:"level"`
}

// sarifText is a message or a multiformatMessageString, sections 3.11 and 3.12.
type sarifText struct {
	Text string `json:"text"`
}

// sarifAutomation is a runAutomationDetails, section 3.17. All of an id up to its
// last slash is what GitHub calls the category.
type sarifAutomation struct {
	ID string `json:"id"`
}

// sarifInvocation is section 3.20.
type sarifInvocation struct {
	ExecutionSuccessful bool                `json:"executionSuccessful"`
	ExitCode            int                 `json:"exitCode"`
	Notifications       []sarifNotification `json:"toolExecutionNotifications,omitempty"`
}

// sarifNotification is section 3.58.
type sarifNotification struct {
	Descriptor sarifReference `json:"descriptor"`
	Level      string         `json:"level"`
	Message    sarifText      `json:"message"`
}

// sarifReference is a reportingDescriptorReference, section 3.52.
type sarifReference struct {
	ID string `json:"id"`
}

// sarifResult is section 3.27.
type sarifResult struct {
	RuleID       string            `json:"ruleId"`
	RuleIndex    *int              `json:"ruleIndex,omitempty"` // absent for a code that is not described
	Level        string            `json:"level"`
	Message      sarifText         `json:"message"`
	Locations    []sarifLocation   `json:"locations"`
	Fingerprints sarifFingerprints `json:"partialFingerprints"`
	Properties   sarifProperties   `json:"properties"`
}

// sarifFingerprints holds one value under a name of our own and under the one
// name that GitHub reads.
type sarifFingerprints struct {
	Own    string `json:"agentgatewayFinding/v1"`
	GitHub string `json:"primaryLocationLineHash"`
}

// sarifProperties is the property bag of a result, section 3.8.
type sarifProperties struct {
	Grade     finding.Grade `json:"grade"`
	Undecided bool          `json:"undecided"`
}

// sarifLocation is section 3.28.
type sarifLocation struct {
	Physical sarifPhysical  `json:"physicalLocation"`
	Logical  []sarifLogical `json:"logicalLocations,omitempty"`
}

// sarifPhysical is section 3.29.
type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   sarifRegion   `json:"region"`
}

// sarifArtifact is an artifactLocation, section 3.4.
type sarifArtifact struct {
	URI  string `json:"uri"`
	Base string `json:"uriBaseId,omitempty"`
}

// sarifRegion is section 3.30.
type sarifRegion struct {
	StartLine int `json:"startLine"`
}

// sarifLogical is section 3.33.
type sarifLogical struct {
	Name     string `json:"name"`
	FullName string `json:"fullyQualifiedName"`
	Kind     string `json:"kind"`
}
