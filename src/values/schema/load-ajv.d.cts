import type { Ajv } from 'ajv'
import type { Ajv2020 } from 'ajv/dist/2020.js'

export declare function draft07(): typeof Ajv
export declare function draft2020(): typeof Ajv2020
export declare function addFormats(ajv: Ajv): void
