#!/usr/bin/env node
import { sluice } from './sluice.ts'

process.exitCode = await sluice(process.argv)
