//! stub
use std::path::Path;
use crate::model::environment::Environment;
use crate::model::path::AbsolutePath;
use crate::policy::Source;
#[derive(Debug, thiserror::Error)]
#[error("x")]
pub struct LayerError;
impl LayerError { pub fn help(&self) -> Option<String> { None } }
pub struct Places;
impl Places { pub fn discover(_: &Environment, _: &AbsolutePath) -> Self { Self } }
pub fn gather(_: &Places, _: Option<&Path>) -> Result<Vec<Source>, LayerError> { Ok(vec![]) }
pub fn managed(_: &Places) -> Result<Vec<Source>, LayerError> { Ok(vec![]) }
pub fn trust(_: &Places) -> Result<AbsolutePath, LayerError> { Err(LayerError) }
